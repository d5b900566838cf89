//! The work of a job in order: stages one after another, batches of tasks within a stage.

use std::ops::Range;

use trundle::{Layout, Pass, Plan, Shape, Width};

use crate::error::Error;
use crate::job::{Job, TensorJob};
use crate::place::{Place, Runs, elements};
use crate::sums::{Elements, Origin, Sum};
use crate::tiling::Tile;
use crate::way::{FilePass, Way, unit};

/// Work that reads only what was there before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) tasks: Vec<Task>,
    /// Which pass of how many over the files.
    pub(crate) pass: (usize, usize),
}

trundle::fingerprint!(struct Stage { tasks, pass });

/// A tile of a tensor, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) tensor: usize,
    pub(crate) pass: usize,
    pub(crate) tile: usize,
}

trundle::fingerprint!(struct Task { tensor, pass, tile });

/// A task with its plans, and the bytes that it takes in memory.
pub(crate) struct Prepared<'a> {
    pub(crate) task: Task,
    pub(crate) tensor: &'a TensorJob,
    /// What is read: all of it in a row in memory.
    pub(crate) read: Runs,
    pub(crate) source_bytes: usize,
    /// What is moved to where, one behind another, and how.
    pub(crate) pieces: Vec<Piece>,
}

/// A piece of a tile's output, which is one piece where it is written, too.
pub(crate) struct Piece {
    /// None once it has run: what it holds is not needed for writing.
    pub(crate) plan: Option<Plan>,
    pub(crate) write: Runs,
    pub(crate) bytes: usize,
}

/// What a plan of a piece takes at most, with the requests for it.
pub(crate) const PIECE_BYTES: usize = 4 << 10;

/// Batches of fewer bytes than this would not keep the disk busy.
const BATCH_BYTES: usize = 32 << 20;

/// The stages of a job. Tensors that take one pass share a stage.
pub(crate) fn stages(job: &Job) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut together = Stage { tasks: Vec::new(), pass: (0, 1) };
    for (tensor, each) in job.tensors.iter().enumerate() {
        let tasks =
            |pass: usize, tiles: usize| (0..tiles).map(move |tile| Task { tensor, pass, tile });
        match &each.way {
            Way::Whole => together.tasks.extend(tasks(0, 1)),
            Way::Tiled(passes) if passes.len() == 1 => {
                together.tasks.extend(tasks(0, passes[0].tiles.len()));
            }
            Way::Tiled(passes) => {
                for (number, pass) in passes.iter().enumerate() {
                    let tasks = tasks(number, pass.tiles.len()).collect();
                    stages.push(Stage { tasks, pass: (number, passes.len()) });
                }
            }
        }
    }
    if !together.tasks.is_empty() {
        stages.insert(0, together);
    }
    stages
}

impl Stage {
    /// Its tasks in batches that fit the room, each as its first task and the one behind its last.
    pub(crate) fn batches(&self, job: &Job) -> Vec<Range<usize>> {
        let mut batches = Vec::new();
        let (mut begin, mut bytes) = (0, 0);
        for (number, task) in self.tasks.iter().enumerate() {
            let own = task.bytes(job);
            let is_full = bytes + own > job.room || bytes >= BATCH_BYTES;
            if number > begin && is_full {
                batches.push(begin..number);
                (begin, bytes) = (number, 0);
            }
            bytes += own;
        }
        if begin < self.tasks.len() {
            batches.push(begin..self.tasks.len());
        }
        batches
    }

    /// The bytes of the file that a pass over the tensor of a stage writes for the next one.
    pub(crate) fn between_bytes(&self, job: &Job, pass: usize) -> u64 {
        let tensors = self.tasks.first().map(|task| &job.tensors[task.tensor]);
        match tensors.map(|tensor| (&tensor.way, tensor.movement.width)) {
            Some((Way::Tiled(passes), width)) => {
                width.bytes(passes[pass].to.elements() * width.units()) as u64
            }
            _ => 0,
        }
    }
}

impl Stage {
    /// The bytes that a batch takes in memory.
    pub(crate) fn bytes(&self, batch: &Range<usize>, job: &Job) -> usize {
        self.tasks[batch.clone()].iter().map(|task| task.bytes(job)).sum()
    }
}

impl Task {
    fn pass_and_tile(self, passes: &[FilePass]) -> (&FilePass, &Tile) {
        let pass = &passes[self.pass];
        (pass, &pass.tiles[self.tile])
    }

    /// The bytes that it takes in both buffers, and between its passes.
    fn bytes(self, job: &Job) -> usize {
        let tensor = &job.tensors[self.tensor];
        let ends = match &tensor.way {
            Way::Whole => {
                let (read, written) = tensor.movement.file_bytes_of_ends();
                (read + written) as usize
            }
            Way::Tiled(passes) => {
                self.pass_and_tile(passes).1.elements() * unit(tensor.movement.width)
            }
        };
        ends + self.held_bytes(job)
    }

    /// What lies between its passes in memory, and the plans.
    pub(crate) fn held_bytes(self, job: &Job) -> usize {
        let tensor = &job.tensors[self.tensor];
        let between = match &tensor.way {
            Way::Whole => {
                let (read, written) = tensor.movement.file_bytes_of_ends();
                tensor.movement.whole_bytes() - read - written
            }
            Way::Tiled(_) => 0,
        };
        between as usize + self.pieces(job) * PIECE_BYTES
    }

    fn pieces(self, job: &Job) -> usize {
        match &job.tensors[self.tensor].way {
            Way::Whole => 1,
            Way::Tiled(passes) => {
                let (pass, tile) = self.pass_and_tile(passes);
                pass.to.count_pieces(&tile.out)
            }
        }
    }

    /// The bytes of files that it writes.
    pub(crate) fn written_bytes(self, job: &Job) -> u64 {
        let tensor = &job.tensors[self.tensor];
        match &tensor.way {
            Way::Whole => tensor.movement.file_bytes_of_ends().1,
            Way::Tiled(passes) => {
                (elements(&self.pass_and_tile(passes).1.out) * unit(tensor.movement.width)) as u64
            }
        }
    }

    /// Plans it.
    pub(crate) fn prepared(self, job: &Job) -> Result<Prepared<'_>, Error> {
        let tensor = &job.tensors[self.tensor];
        let passes = match &tensor.way {
            Way::Whole => {
                let (read, written) = tensor.movement.file_bytes_of_ends();
                let (read, written) = (read as usize, written as usize);
                let all = |bytes: usize| Runs::all(bytes);
                let plan = tensor.movement.plan(job.threads)?;
                let piece = Piece { plan: Some(plan), write: all(written), bytes: written };
                return Ok(Prepared {
                    task: self,
                    tensor,
                    read: all(read),
                    source_bytes: read,
                    pieces: vec![piece],
                });
            }
            Way::Tiled(passes) => passes,
        };
        let (pass, tile) = self.pass_and_tile(passes);
        let unit = unit(tensor.movement.width);
        let pieces = pass
            .to
            .pieces(&tile.out)
            .iter()
            .map(|out| piece(pass, tile, out, unit, job.threads))
            .collect::<Result<_, _>>()?;
        Ok(Prepared {
            task: self,
            tensor,
            read: pass.from.runs(&tile.source),
            source_bytes: elements(&tile.source) * unit,
            pieces,
        })
    }
}

/// A piece of a tile: the part of the map between the boxes, in memory.
fn piece(
    pass: &FilePass,
    tile: &Tile,
    out: &[Range<usize>],
    unit: usize,
    threads: Option<usize>,
) -> Result<Piece, Error> {
    let map = pass.map.restrict(out)?.within_source(&tile.source)?;
    let layout = |shape: &Shape| Layout::row_major(shape, unit);
    let (src, dst) = (layout(map.in_shape())?, layout(map.out_shape())?);
    let stages = pass.stages.clone();
    let plan = Plan::of_passes(vec![Pass { stages, map }], unit, &src, &dst, threads)?;
    let (write, bytes) = (pass.to.runs(out), elements(out) * unit);
    Ok(Piece { plan: Some(plan), write, bytes })
}

impl Prepared<'_> {
    /// The bytes of all its pieces.
    pub(crate) fn written_bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    /// Drops what moves it.
    pub(crate) fn forget_plans(&mut self) {
        self.pieces.iter_mut().for_each(|piece| piece.plan = None);
    }

    /// How its bytes in a file are counted: those of a tensor that is moved whole are bytes.
    pub(crate) fn file_width(&self) -> Width {
        match &self.tensor.way {
            Way::Whole => Width::Bytes(1),
            Way::Tiled(_) => self.tensor.movement.width,
        }
    }

    /// Whether what is written is what was read, byte for byte.
    pub(crate) fn is_copy(&self) -> bool {
        self.source_bytes == self.written_bytes()
            && self.pieces.iter().all(|piece| {
                piece.bytes == self.source_bytes && piece.plan.as_ref().is_some_and(is_copy)
            })
    }

    /// The sum of what a task read, at the places where the operators bring it.
    pub(crate) fn sum(&self, memory: &[u8], threads: usize) -> Sum {
        let movement = &self.tensor.movement;
        let unit = crate::way::unit(movement.width);
        match &self.tensor.way {
            Way::Whole => {
                let all =
                    |shape: &trundle::Shape| shape.iter().map(|size| 0..*size).collect::<Vec<_>>();
                let (in_shape, out_shape) = (movement.in_shape(), movement.out_shape());
                let origin = Origin {
                    steps: &movement.steps,
                    out_shape,
                    in_shape,
                    source: &all(in_shape),
                    elements: Elements::of_file(memory, movement.width),
                    to: &Place::RowMajor { sizes: out_shape.to_vec() },
                };
                origin.sum(&all(out_shape), threads)
            }
            Way::Tiled(passes) => {
                let (pass, tile) = self.task.pass_and_tile(passes);
                let origin = Origin {
                    steps: &movement.steps[pass.stages.clone()],
                    out_shape: pass.map.out_shape(),
                    in_shape: pass.map.in_shape(),
                    source: &tile.source,
                    elements: Elements::Bytes(memory, unit),
                    to: &pass.to,
                };
                origin.sum(&tile.out, threads)
            }
        }
    }
}

fn is_copy(plan: &Plan) -> bool {
    let [work] = plan.moves() else { return false };
    let blocks = work.blocks();
    blocks.len() == 1
        && work.packing().is_none()
        && blocks.iter().all(|block| {
            block.loops.is_empty()
                && block.ragged.is_none()
                && block.src_offset == 0
                && block.dst_offset == 0
        })
}
