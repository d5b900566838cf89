//! Prepares a task: its file requests and its plans.

use std::ops::Range;

use trundle::lowering::{Backend, Device, ProgramMoves, Runner};
use trundle::{IndexMap, Width};
use trundle_core::program::{Budget, Made, Program, Restricted};
use trundle_formats::StoredDType;

use crate::error::Error;
use crate::plan::io_plan::{FilePass, FileRead, ReadFrom};
use crate::plan::job::Job;
use crate::plan::location::{Bounds, Location, Runs, elements, unit};
use crate::plan::movement::{self, made_of_output};
use crate::plan::tasks::Task;
use crate::plan::tensor_job::TensorJob;
use crate::plan::tiling::Tile;
use crate::run::checksums::{Checksum, Elements};
use crate::run::origin::{Origin, Source};

pub(crate) struct PreparedTask<'a> {
    pub(crate) task: Task,
    pub(crate) tensor: &'a TensorJob,
    pass: &'a FilePass,
    tile: &'a Tile,
    pub(crate) reads: Vec<TaskRead<'a>>,
    pub(crate) spans: Vec<Span>,
}

pub(crate) struct TaskRead<'a> {
    pub(crate) input: usize,
    pub(crate) file: ReadFrom,
    pub(crate) runs: Runs,
    /// The size of the contiguous memory for this input, in bytes.
    pub(crate) bytes: usize,
    /// The stored type if its bytes must be swapped to little-endian.
    pub(crate) swapped: Option<&'a StoredDType>,
}

/// The part of a task's output in one chunk of the destination.
pub(crate) struct Span {
    /// The plan; `None` after it has run, because writing does not need it.
    plan: Option<SpanPlan>,
    pub(crate) write: Runs,
    pub(crate) bytes: usize,
}

enum SpanPlan {
    /// Copies everything that was read.
    Copy,
    Program(Box<Runner<Device>>),
}

impl<'a> PreparedTask<'a> {
    pub(crate) fn new(task: Task, job: &'a Job) -> Result<PreparedTask<'a>, Error> {
        let tensor = &job.tensors[task.tensor];
        let width = tensor.movement.width();
        let (pass, tile) = task.pass_and_tile(job);
        let runs = |at: &Location, bounds: &Bounds, bytes: usize| match pass.is_whole {
            true => Runs::all(bytes),
            false => at.runs(bounds),
        };
        let read = |(input, source): &(usize, Bounds)| {
            let FileRead { file, from, .. } = &pass.reads[*input];
            let bytes = pass.bytes(width, elements(source));
            let swapped = swapped(job, tensor, *file);
            TaskRead { input: *input, file: *file, runs: runs(from, source, bytes), bytes, swapped }
        };
        let reads = tile.sources.iter().map(read).collect();
        let device = Device::new(job.threads);
        let (program, budget) = match pass.is_whole {
            true => {
                let budget = device.budget();
                (Program::clone(&pass.program).simplified(&budget), budget)
            }
            false => {
                let (output, budget) = (pass.program.outputs()[0], device.budget());
                let Restricted { program, .. } =
                    pass.program.restrict(output, &tile.out, &budget)?;
                (program, movement::budget())
            }
        };
        let span = |out: &Bounds| {
            let bytes = pass.bytes(width, elements(out));
            let plan = match pass.is_whole && tensor.movement.is_copy() {
                true => SpanPlan::Copy,
                false => SpanPlan::new(device.clone(), &program, &tile.out, out, &budget)?,
            };
            Ok(Span { plan: Some(plan), write: runs(&pass.to, out, bytes), bytes })
        };
        let spans = pass.to.spans(&tile.out).iter().map(span).collect::<Result<_, Error>>()?;
        Ok(PreparedTask { task, tensor, pass, tile, reads, spans })
    }

    pub(crate) fn source_bytes(&self) -> usize {
        self.reads.iter().map(|read| read.bytes).sum()
    }

    pub(crate) fn written_bytes(&self) -> usize {
        self.spans.iter().map(|span| span.bytes).sum()
    }

    pub(crate) fn drop_plans(&mut self) {
        self.spans.iter_mut().for_each(|span| span.plan = None);
    }

    /// Returns the unit of file positions: a byte for a tensor that is moved whole, otherwise an element.
    pub(crate) fn file_width(&self) -> Width {
        if self.pass.is_whole { Width::Bytes(1) } else { self.tensor.movement.width() }
    }

    pub(crate) fn is_copy(&self) -> bool {
        self.source_bytes() == self.written_bytes()
            && matches!(&self.spans[..], [Span { plan: Some(SpanPlan::Copy), .. }])
    }

    /// Splits the buffer by input; an input that was not read is empty.
    fn inputs<'m>(&self, mut memory: &'m [u8]) -> Vec<&'m [u8]> {
        let mut read: Vec<&[u8]> = vec![&[]; self.pass.reads.len()];
        for each in &self.reads {
            (read[each.input], memory) = memory.split_at(each.bytes);
        }
        read
    }

    pub(crate) fn run(&self, source: &[u8], mut moved: &mut [u8]) -> Result<(), Error> {
        let inputs = self.inputs(source);
        for span in &self.spans {
            let (own, rest) = std::mem::take(&mut moved).split_at_mut(span.bytes);
            moved = rest;
            match &span.plan {
                None => {}
                Some(SpanPlan::Copy) => own.copy_from_slice(source),
                Some(SpanPlan::Program(runner)) => {
                    // The unused bits of the last packed group must be 0 in a file. A group has at most 3 bytes.
                    let last = own.len().saturating_sub(3);
                    own[last..].fill(0);
                    runner.run(&inputs, &mut [own])?;
                }
            }
        }
        Ok(())
    }

    /// Returns the checksum of the source's elements at their positions in the output. For `goes_on`, see
    /// [`Origin::checksum`].
    pub(crate) fn checksum(
        &self,
        memory: &[u8],
        threads: usize,
        goes_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Checksum {
        let PreparedTask { pass, tile, tensor, .. } = self;
        let (inputs, width) = (self.inputs(memory), tensor.movement.width());
        let source = |(input, bounds): &(usize, Bounds)| {
            let elements = match pass.is_whole {
                true => Elements::of_file(inputs[*input], width),
                false => Elements::Bytes(inputs[*input], unit(width)),
            };
            let (of, shape) = (pass.reads[*input].of, given_shape(&pass.program, *input));
            Source { of, shape, bounds: bounds.clone(), elements }
        };
        let origin = Origin {
            program: &tensor.movement.program,
            target: pass.target,
            out_shape: &pass.program.tensor(pass.program.outputs()[0]).shape,
            sources: tile.sources.iter().map(source).collect(),
            to: &pass.to,
        };
        origin.checksum(&tile.out, threads, goes_on)
    }
}

fn swapped<'a>(job: &'a Job, tensor: &TensorJob, file: ReadFrom) -> Option<&'a StoredDType> {
    let ReadFrom::Input(input) = file else { return None };
    let input = job.inputs[tensor.inputs[input]].tensor()?;
    input.is_swapped.then_some(&input.header.element)
}

fn given_shape(program: &Program, input: usize) -> &trundle::Shape {
    let given = program.tensors().iter().find(|tensor| tensor.made == Made::Given(input));
    given.map_or_else(|| unreachable!("each input of a program is given"), |tensor| &tensor.shape)
}

impl SpanPlan {
    /// Plans the part `out` of the output of `program`, which is the box `tile` of a tensor.
    fn new(
        device: Device,
        program: &Program,
        tile: &[Range<usize>],
        out: &[Range<usize>],
        budget: &Budget,
    ) -> Result<SpanPlan, Error> {
        let output = program.outputs()[0];
        let mut program = program.clone();
        if tile != out {
            let within = tile
                .iter()
                .zip(out)
                .map(|(tile, out)| out.start - tile.start..out.end - tile.start);
            let within: Bounds = within.collect();
            let part = IndexMap::identity(&program.tensor(output).shape).restrict(&within)?;
            let part = program.moved(output, part)?;
            program = program.with_output(part)?;
        }
        if matches!(made_of_output(&program), Made::Given(_)) {
            return Ok(SpanPlan::Copy);
        }
        let runner = ProgramMoves::row_major(&program, budget)?.runner(device)?;
        Ok(SpanPlan::Program(Box::new(runner)))
    }
}
