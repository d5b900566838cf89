//! Orders the work of a job: groups of tasks, and batches of tasks within a group.

use std::iter::once;
use std::ops::Range;

use crate::plan::io_plan::FilePass;
use crate::plan::job::Job;
use crate::plan::location::{elements, file_bytes};
use crate::plan::tiling::{SPAN_BYTES, Tile};

/// Tasks that do not read each other's output.
#[derive(Clone, Debug)]
pub(crate) struct TaskGroup {
    pub(crate) tasks: Vec<Task>,
    /// The index of the pass, and the number of passes of the tensor.
    pub(crate) pass: (usize, usize),
}

trundle::internal::fingerprint!(struct TaskGroup { tasks, pass });

/// One tile of a tensor, which may be the whole tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) tensor: usize,
    pub(crate) pass: usize,
    pub(crate) tile: usize,
}

trundle::internal::fingerprint!(struct Task { tensor, pass, tile });

/// The minimum size of a batch in bytes. Smaller batches do not keep the disk busy.
const BATCH_BYTES: usize = 32 << 20;

/// The minimum number of chunks in a batch, if they fit in half of the memory. At the end of each batch, threads wait
/// for the last chunk, which matters if codecs are slower than the disk.
const CODED_CHUNKS: usize = 16;

/// Returns the groups of a job. Tensors with one pass share a group, unless their encoded chunks are copied.
pub(crate) fn groups(job: &Job) -> Vec<TaskGroup> {
    let mut groups = Vec::new();
    let mut together = TaskGroup { tasks: Vec::new(), pass: (0, 1) };
    for (tensor, each) in job.tensors.iter().enumerate() {
        let tasks = |pass: usize| {
            let tiles = 0..each.file_passes[pass].tiles.len();
            tiles.map(move |tile| Task { tensor, pass, tile })
        };
        // Copied encoded chunks are one group, even if decoding would need several passes.
        let passes = if each.encoded().is_some() { 1 } else { each.file_passes.len() };
        if passes == 1 && each.encoded().is_none() {
            together.tasks.extend(tasks(0));
            continue;
        }
        let group = |pass| TaskGroup { tasks: tasks(pass).collect(), pass: (pass, passes) };
        groups.extend((0..passes).map(group));
    }
    if !together.tasks.is_empty() {
        groups.insert(0, together);
    }
    groups
}

impl TaskGroup {
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

    /// Returns the index of the tensor if this group copies encoded chunks.
    pub(crate) fn encoded(&self, job: &Job) -> Option<usize> {
        let tensor = self.tasks.first()?.tensor;
        job.tensors[tensor].encoded().map(|_| tensor)
    }

    /// Returns the bytes of the intermediate that pass `pass` of the group's tensor writes.
    pub(crate) fn intermediate_bytes(&self, job: &Job, pass: usize) -> u64 {
        let Some(task) = self.tasks.first() else { return 0 };
        let tensor = &job.tensors[task.tensor];
        file_bytes(tensor.movement.width(), tensor.file_passes[pass].to.elements()) as u64
    }

    pub(crate) fn written(&self, tensor: usize, job: &Job) -> Vec<Range<usize>> {
        let to = &job.tensors[tensor].file_passes[self.pass.0].to;
        let own = self.tasks.iter().filter(|task| task.tensor == tensor);
        let tiles: Vec<&Tile> = own.map(|task| task.pass_and_tile(job).1).collect();
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

    pub(crate) fn written_bytes(&self, tasks: Range<usize>, job: &Job) -> u64 {
        self.tasks[tasks].iter().map(|task| task.written_bytes(job)).sum()
    }

    pub(crate) fn bytes(&self, batch: &Range<usize>, job: &Job) -> usize {
        self.tasks[batch.clone()].iter().map(|task| task.bytes(job)).sum()
    }
}

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
    pub(crate) fn pass_and_tile(self, job: &Job) -> (&FilePass, &Tile) {
        let pass = &job.tensors[self.tensor].file_passes[self.pass];
        (pass, &pass.tiles[self.tile])
    }

    /// Returns the bytes of the task in memory: source, output, and [held bytes](Task::held_bytes).
    fn bytes(self, job: &Job) -> usize {
        let (pass, tile) = self.pass_and_tile(job);
        pass.tile_bytes(job.tensors[self.tensor].movement.width(), tile) + self.held_bytes(job)
    }

    /// Returns the bytes of the task's plans, and of intermediates in memory.
    pub(crate) fn held_bytes(self, job: &Job) -> usize {
        let (pass, tile) = self.pass_and_tile(job);
        let plans = tile.count_plans(&pass.to) * SPAN_BYTES;
        match pass.is_whole {
            true => plans + job.tensors[self.tensor].movement.scratch_bytes as usize,
            false => plans,
        }
    }

    /// Returns the bytes in memory of the elements that the task writes.
    pub(crate) fn written_bytes(self, job: &Job) -> u64 {
        let (pass, tile) = self.pass_and_tile(job);
        pass.bytes(job.tensors[self.tensor].movement.width(), elements(&tile.out)) as u64
    }
}
