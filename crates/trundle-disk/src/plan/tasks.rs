//! What a job does, in order: groups of tasks one after another, batches of tasks within a group.

use std::iter::once;
use std::ops::Range;

use crate::plan::io_plan::{FilePass, IoPlan};
use crate::plan::job::Job;
use crate::plan::location::{elements, file_bytes, unit};
use crate::plan::tensor_job::TensorJob;
use crate::plan::tiling::{SPAN_BYTES, Tile};

/// Tasks that read only what was there before the first of them begins.
#[derive(Clone, Debug)]
pub(crate) struct TaskGroup {
    pub(crate) tasks: Vec<Task>,
    /// Which pass of how many over the files.
    pub(crate) pass: (usize, usize),
}

trundle::internal::fingerprint!(struct TaskGroup { tasks, pass });

/// A tile of a tensor, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) tensor: usize,
    pub(crate) pass: usize,
    pub(crate) tile: usize,
}

trundle::internal::fingerprint!(struct Task { tensor, pass, tile });

/// Batches of fewer bytes than this would not keep the disk busy.
const BATCH_BYTES: usize = 32 << 20;

/// Of chunks that codecs take longer for than the disk, batches have so many, if half of the memory has room for
/// them: at the end of each a thread waits until others are done with theirs.
const CODED_CHUNKS: usize = 16;

/// The groups of a job. Tensors that take one pass share a group, but for those whose chunks are copied as they
/// are encoded.
pub(crate) fn groups(job: &Job) -> Vec<TaskGroup> {
    let mut groups = Vec::new();
    let mut together = TaskGroup { tasks: Vec::new(), pass: (0, 1) };
    for (tensor, each) in job.tensors.iter().enumerate() {
        let tasks =
            |pass: usize, tiles: usize| (0..tiles).map(move |tile| Task { tensor, pass, tile });
        match &each.io_plan {
            IoPlan::Whole => together.tasks.extend(tasks(0, 1)),
            IoPlan::Tiled(passes) if passes.len() == 1 && each.encoded().is_none() => {
                together.tasks.extend(tasks(0, passes[0].tiles.len()));
            }
            // One group, whatever it would take to decode them.
            IoPlan::Tiled(passes) if each.encoded().is_some() => {
                let tasks = tasks(0, passes[0].tiles.len()).collect();
                groups.push(TaskGroup { tasks, pass: (0, 1) });
            }
            IoPlan::Tiled(passes) => {
                for (index, pass) in passes.iter().enumerate() {
                    let tasks = tasks(index, pass.tiles.len()).collect();
                    groups.push(TaskGroup { tasks, pass: (index, passes.len()) });
                }
            }
        }
    }
    if !together.tasks.is_empty() {
        groups.insert(0, together);
    }
    groups
}

impl TaskGroup {
    /// Its tasks in batches that fit the budget.
    pub(crate) fn batches(&self, job: &Job) -> Vec<Range<usize>> {
        let mut batches = Vec::new();
        let (mut begin, mut bytes) = (0, 0);
        let chunks = CODED_CHUNKS.max(2 * job.rates.coders);
        let enough = job.coded_bytes().saturating_mul(chunks).max(BATCH_BYTES);
        for (index, task) in self.tasks.iter().enumerate() {
            let own = task.bytes(job);
            let is_full = bytes + own > job.budget
                || bytes >= enough
                || (bytes >= BATCH_BYTES && bytes + own > job.budget / 2);
            if index > begin && is_full {
                batches.push(begin..index);
                (begin, bytes) = (index, 0);
            }
            bytes += own;
        }
        if begin < self.tasks.len() {
            batches.push(begin..self.tasks.len());
        }
        batches
    }

    /// The tensor whose chunks are copied as they are encoded, if it is the group of one.
    pub(crate) fn encoded(&self, job: &Job) -> Option<usize> {
        let tensor = self.tasks.first()?.tensor;
        job.tensors[tensor].encoded().map(|_| tensor)
    }

    /// The bytes of the file that a pass over the tensor of a group writes for the next one.
    pub(crate) fn intermediate_bytes(&self, job: &Job, pass: usize) -> u64 {
        let tensors = self.tasks.first().map(|task| &job.tensors[task.tensor]);
        match tensors.map(|tensor| (&tensor.io_plan, tensor.movement.width())) {
            Some((IoPlan::Tiled(passes), width)) => {
                file_bytes(width, passes[pass].to.elements()) as u64
            }
            _ => 0,
        }
    }

    /// Which elements it writes of a tensor, by their places where it writes them.
    pub(crate) fn written(&self, tensor: usize, job: &Job) -> Vec<Range<usize>> {
        let TensorJob { io_plan, movement, .. } = &job.tensors[tensor];
        let IoPlan::Tiled(passes) = io_plan else {
            return once(0..movement.out_shape().elements()).collect();
        };
        let to = &passes[self.pass.0].to;
        let own = self.tasks.iter().filter(|task| task.tensor == tensor);
        let tiles: Vec<&Tile> = own.map(|task| task.pass_and_tile(passes).1).collect();
        let all = to.elements();
        if tiles.iter().map(|tile| elements(&tile.out)).sum::<usize>() == all {
            return once(0..all).collect();
        }
        let spans = tiles.iter().flat_map(|tile| to.spans(&tile.out));
        let runs = spans.flat_map(|span| {
            let runs = to.runs(&span);
            (0..runs.count()).map(move |run| runs.start(run)..runs.start(run) + runs.len)
        });
        merged(runs.collect())
    }

    /// The bytes of files that some of its tasks write.
    pub(crate) fn written_bytes(&self, tasks: Range<usize>, job: &Job) -> u64 {
        self.tasks[tasks].iter().map(|task| task.written_bytes(job)).sum()
    }

    /// The bytes that a batch takes in memory.
    pub(crate) fn bytes(&self, batch: &Range<usize>, job: &Job) -> usize {
        self.tasks[batch.clone()].iter().map(|task| task.bytes(job)).sum()
    }
}

/// Ranges in rising order, those that touch as one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let touch = before.end == next.start;
        if touch {
            before.end = next.end;
        }
        touch
    });
    ranges
}

impl Task {
    /// Its pass of those of its tensor, and its tile.
    pub(crate) fn pass_and_tile(self, passes: &[FilePass]) -> (&FilePass, &Tile) {
        let pass = &passes[self.pass];
        (pass, &pass.tiles[self.tile])
    }

    /// The bytes that it takes in memory: source, output, and what it [holds](Task::held_bytes).
    fn bytes(self, job: &Job) -> usize {
        let tensor = &job.tensors[self.tensor];
        let ends = match &tensor.io_plan {
            IoPlan::Whole => {
                let (read, written) = tensor.movement.file_bytes_of_ends();
                (read + written) as usize
            }
            IoPlan::Tiled(passes) => {
                self.pass_and_tile(passes).1.elements() * unit(tensor.movement.width())
            }
        };
        ends + self.held_bytes(job)
    }

    /// The bytes of its plans, and of what is in memory between its passes.
    pub(crate) fn held_bytes(self, job: &Job) -> usize {
        let tensor = &job.tensors[self.tensor];
        let intermediate = match &tensor.io_plan {
            IoPlan::Whole => {
                let (read, written) = tensor.movement.file_bytes_of_ends();
                tensor.movement.whole_bytes() - read - written
            }
            IoPlan::Tiled(_) => 0,
        };
        intermediate as usize + self.count_plans(job) * SPAN_BYTES
    }

    fn count_plans(self, job: &Job) -> usize {
        match &job.tensors[self.tensor].io_plan {
            IoPlan::Whole => 1,
            IoPlan::Tiled(passes) => {
                let (pass, tile) = self.pass_and_tile(passes);
                tile.count_plans(&pass.to)
            }
        }
    }

    /// The bytes of files that it writes.
    pub(crate) fn written_bytes(self, job: &Job) -> u64 {
        let tensor = &job.tensors[self.tensor];
        match &tensor.io_plan {
            IoPlan::Whole => tensor.movement.file_bytes_of_ends().1,
            IoPlan::Tiled(passes) => {
                (elements(&self.pass_and_tile(passes).1.out) * unit(tensor.movement.width())) as u64
            }
        }
    }
}
