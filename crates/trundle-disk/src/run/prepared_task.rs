//! A task with all that carries it out: requests for files, plans for memory.

use std::ops::Range;

use trundle::{Layout, Pass, Plan, Shape, Width};

use crate::error::Error;
use crate::plan::io_plan::{FilePass, IoPlan};
use crate::plan::job::{Job, TensorJob};
use crate::plan::location::{Location, Runs, elements, unit};
use crate::plan::tasks::Task;
use crate::plan::tiling::Tile;
use crate::run::checksums::{Checksum, Elements, Origin};

/// A task with its plans, and the bytes that it takes in memory.
pub(crate) struct PreparedTask<'a> {
    pub(crate) task: Task,
    pub(crate) tensor: &'a TensorJob,
    /// What is read: all of it is contiguous in memory.
    pub(crate) read: Runs,
    pub(crate) source_bytes: usize,
    /// What it writes, one span after another in memory.
    pub(crate) spans: Vec<Span>,
}

/// A part of a task's output that is within one chunk where it is written.
pub(crate) struct Span {
    /// What moves it; `None` once it has run, since writing does not need it.
    pub(crate) plan: Option<Plan>,
    pub(crate) write: Runs,
    pub(crate) bytes: usize,
}

impl<'a> PreparedTask<'a> {
    /// Plans a task of `job`.
    pub(crate) fn new(task: Task, job: &'a Job) -> Result<PreparedTask<'a>, Error> {
        let tensor = &job.tensors[task.tensor];
        match &tensor.io_plan {
            IoPlan::Whole => {
                let (read, written) = tensor.movement.file_bytes_of_ends();
                let (source_bytes, bytes) = (read as usize, written as usize);
                let plan = Some(tensor.movement.plan(job.threads)?);
                let spans = vec![Span { plan, write: Runs::all(bytes), bytes }];
                let read = Runs::all(source_bytes);
                Ok(PreparedTask { task, tensor, read, source_bytes, spans })
            }
            IoPlan::Tiled(passes) => {
                let (pass, tile) = task.pass_and_tile(passes);
                let unit = unit(tensor.movement.width);
                let spans = pass.to.spans(&tile.out);
                let spans = spans.iter().map(|out| Span::new(pass, tile, out, unit, job.threads));
                Ok(PreparedTask {
                    task,
                    tensor,
                    read: pass.from.runs(&tile.source),
                    source_bytes: elements(&tile.source) * unit,
                    spans: spans.collect::<Result<_, _>>()?,
                })
            }
        }
    }

    /// The bytes of all its spans.
    pub(crate) fn written_bytes(&self) -> usize {
        self.spans.iter().map(|span| span.bytes).sum()
    }

    /// Drops its plans.
    pub(crate) fn drop_plans(&mut self) {
        self.spans.iter_mut().for_each(|span| span.plan = None);
    }

    /// How its bytes in a file are counted: those of a tensor that is moved whole are bytes.
    pub(crate) fn file_width(&self) -> Width {
        match &self.tensor.io_plan {
            IoPlan::Whole => Width::Bytes(1),
            IoPlan::Tiled(_) => self.tensor.movement.width,
        }
    }

    /// Whether what is written is what was read, byte for byte.
    pub(crate) fn is_copy(&self) -> bool {
        self.source_bytes == self.written_bytes()
            && self.spans.iter().all(|span| {
                span.bytes == self.source_bytes && span.plan.as_ref().is_some_and(is_copy)
            })
    }

    /// The checksum of what it read, with each element at the position to which the operators bring
    /// it.
    pub(crate) fn checksum(&self, memory: &[u8], threads: usize) -> Checksum {
        let movement = &self.tensor.movement;
        match &self.tensor.io_plan {
            IoPlan::Whole => {
                let all = |shape: &Shape| shape.iter().map(|size| 0..*size).collect::<Vec<_>>();
                let (in_shape, out_shape) = (movement.in_shape(), movement.out_shape());
                let origin = Origin {
                    steps: &movement.steps,
                    out_shape,
                    in_shape,
                    source: &all(in_shape),
                    elements: Elements::of_file(memory, movement.width),
                    to: &Location::RowMajor { sizes: out_shape.to_vec() },
                };
                origin.checksum(&all(out_shape), threads)
            }
            IoPlan::Tiled(passes) => {
                let (pass, tile) = self.task.pass_and_tile(passes);
                let origin = Origin {
                    steps: &movement.steps[pass.steps.clone()],
                    out_shape: pass.map.out_shape(),
                    in_shape: pass.map.in_shape(),
                    source: &tile.source,
                    elements: Elements::Bytes(memory, unit(movement.width)),
                    to: &pass.to,
                };
                origin.checksum(&tile.out, threads)
            }
        }
    }
}

impl Span {
    /// The part `out` of the output of a tile: the part of the map between the two boxes, in memory.
    fn new(
        pass: &FilePass,
        tile: &Tile,
        out: &[Range<usize>],
        unit: usize,
        threads: Option<usize>,
    ) -> Result<Span, Error> {
        let map = pass.map.restrict(out)?.within_source(&tile.source)?;
        let layout = |shape: &Shape| Layout::row_major(shape, unit);
        let (src, dst) = (layout(map.in_shape())?, layout(map.out_shape())?);
        let stages = pass.steps.clone();
        let plan = Plan::of_passes(vec![Pass { stages, map }], unit, &src, &dst, threads)?;
        let (write, bytes) = (pass.to.runs(out), elements(out) * unit);
        Ok(Span { plan: Some(plan), write, bytes })
    }
}

fn is_copy(plan: &Plan) -> bool {
    let [only] = plan.moves() else { return false };
    let blocks = only.blocks();
    blocks.len() == 1
        && only.packing().is_none()
        && blocks.iter().all(|block| {
            block.loops.is_empty()
                && block.src_offset == 0
                && block.dst_offset == 0
        })
}
