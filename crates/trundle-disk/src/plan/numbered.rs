//! Divides a job into numbered tasks, which several processes can share.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::plan::encoded::EncodedChunks;
use crate::plan::job::Job;
use crate::plan::location::{Location, elements};
use crate::plan::tasks::{Task, TaskGroup, groups};
use crate::plan::tensor_job::TensorJob;

/// The approximate largest number of tasks by default.
const MOST_TASKS: u64 = 1000;

/// The approximate largest number of tasks that copy encoded chunks. A few bytes of metadata can describe more chunks
/// than there is memory for tasks.
const MOST_ENCODED_TASKS: u64 = 1 << 16;

/// The minimum number of bytes that a task writes by default. For fewer bytes, starting a process takes too long.
const LEAST_BYTES: u64 = 64 << 20;

/// The usual number of tasks, enough for many workers. A job gets fewer tasks if this many would take more than
/// [`MARGIN`] times as long.
const ENOUGH_TASKS: usize = 16;
const MARGIN: f64 = 1.25;

/// The number of buffers of the size of a tile: inputs and outputs, twice, so that reads and writes overlap moves.
const BUFFERS: u64 = 4;

/// Independent tasks. All tasks of earlier stages must be done first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The number of the first task.
    pub first: usize,
    /// The number of tasks.
    pub tasks: usize,
    /// The number of bytes that the tasks write.
    pub bytes: u64,
}

impl Stage {
    /// Returns the numbers of the tasks.
    pub fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.tasks
    }
}

/// A part of a task group for one process: tiles that write whole chunks, or encoded chunks that are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedTask {
    pub(crate) group: usize,
    pub(crate) part: Range<usize>,
}

impl Job {
    /// Changes the tensors for which `which` returns true to decode and encode all chunks instead of copying them.
    pub(crate) fn decoding(self, which: impl Fn(&TensorJob) -> bool) -> Job {
        let Job { tensors, .. } = self;
        let tensors = tensors.into_iter().map(|tensor| match which(&tensor) {
            true => tensor.decoding(),
            false => tensor,
        });
        Job { tensors: tensors.collect(), ..self }
    }

    /// Plans tiles for tasks that write about `bytes` bytes each (default: for a usual number of tasks). Also returns
    /// this size. The tiles are smaller than the memory limit allows, because otherwise a job could be one task.
    ///
    /// # Errors
    /// [`Error`] if the memory is not enough for a single element.
    pub(crate) fn for_tasks(&self, bytes: Option<u64>) -> Result<(Job, u64), Error> {
        if let Some(bytes) = bytes {
            let most = usize::try_from(bytes.saturating_mul(BUFFERS)).unwrap_or(usize::MAX);
            let mut budget = most.min(self.budget);
            loop {
                match self.clone().with_resources(budget, self.rates) {
                    Err(_) if budget < self.budget => budget = (2 * budget).min(self.budget),
                    decided => return decided.map(|job| (job, bytes)),
                }
            }
        }
        let bytes = (assumed_bytes(self) / MOST_TASKS).max(LEAST_BYTES);
        let mut decided = self.clone().with_resources(self.budget, self.rates)?;
        let most_seconds = MARGIN * decided.cost().seconds;
        let is_too_few = |job: &Job| numbered(job, &groups(job), bytes).1.len() < ENOUGH_TASKS;
        while decided.budget as u64 > BUFFERS * bytes && is_too_few(&decided) {
            let less = self.clone().with_resources(decided.budget / 2, self.rates);
            let Ok(less) = less else { break };
            if less.cost().seconds > most_seconds {
                break;
            }
            decided = less;
        }
        Ok((decided, bytes))
    }
}

/// Returns the stages and the tasks of a job. Each task writes about `bytes` bytes, if the chunks are small enough.
pub(crate) fn numbered(
    job: &Job,
    groups: &[TaskGroup],
    bytes: u64,
) -> (Vec<Stage>, Vec<NumberedTask>) {
    let (mut stages, mut tasks): (Vec<Stage>, Vec<NumberedTask>) = Default::default();
    let bytes_of_encoded = bytes.max(assumed_bytes(job) / MOST_ENCODED_TASKS);
    let passes = groups.iter().map(|group| group.pass.0 + 1).max().unwrap_or(0);
    for pass in 0..passes {
        let first = tasks.len();
        let mut written = 0;
        let of_pass = groups.iter().enumerate().filter(|(_, group)| group.pass.0 == pass);
        for (number, group) in of_pass {
            let bytes = if group.encoded(job).is_some() { bytes_of_encoded } else { bytes };
            let cut = cut(job, group, bytes).into_iter();
            tasks.extend(cut.map(|part| NumberedTask { group: number, part }));
            written += group.written_bytes(0..group.tasks.len(), job);
        }
        stages.push(Stage { first, tasks: tasks.len() - first, bytes: written });
    }
    (stages, tasks)
}

fn assumed_bytes(job: &Job) -> u64 {
    job.tensors.iter().map(TensorJob::assumed_bytes).fold(0, u64::saturating_add)
}

/// Divides the tiles of a group into ranges that write about `bytes` bytes and only whole chunks.
fn cut(job: &Job, group: &TaskGroup, bytes: u64) -> Vec<Range<usize>> {
    if let Some(tensor) = group.encoded(job) {
        let count = job.tensors[tensor].encoded().map_or(0, EncodedChunks::count);
        let all = job.tensors[tensor].assumed_bytes();
        let tasks = usize::try_from(all / bytes.max(1)).unwrap_or(count).clamp(1, count.max(1));
        let at = |task: usize| (count as u128 * task as u128 / tasks as u128) as usize;
        return (0..tasks).map(|task| at(task)..at(task + 1)).collect();
    }
    let mut runs = Vec::new();
    let (mut begin, mut written, mut chunks) = (0, 0, BegunChunks::default());
    for (at, tile) in group.tasks.iter().enumerate() {
        written += tile.written_bytes(job);
        chunks.add(*tile, job);
        if chunks.begun.is_empty() && written >= bytes {
            runs.push(begin..at + 1);
            (begin, written) = (at + 1, 0);
        }
    }
    if begin < group.tasks.len() {
        runs.push(begin..group.tasks.len());
    }
    runs
}

/// For each partly written chunk, the number of written elements. The key is the tensor and the chunk's first position.
#[derive(Default)]
struct BegunChunks {
    begun: BTreeMap<(usize, usize), usize>,
    /// The layout of each tensor. Neighbouring chunks that every tile writes together are joined, because there may be
    /// millions.
    joined: BTreeMap<usize, Location>,
}

impl BegunChunks {
    fn add(&mut self, tile: Task, job: &Job) {
        let (pass, own) = tile.pass_and_tile(job);
        if pass.to.waiting(&own.out) == 0 {
            return;
        }
        let joined =
            || pass.to.joined(&pass.tiles.iter().map(|tile| &tile.out).collect::<Vec<_>>());
        let to = self.joined.entry(tile.tensor).or_insert_with(joined);
        for span in to.spans(&own.out) {
            let (first, all) = to.chunk_around(&span);
            let key = (tile.tensor, first);
            let covered = self.begun.entry(key).or_default();
            *covered += elements(&span);
            if *covered >= all {
                self.begun.remove(&key);
            }
        }
    }
}
