//! The batches of a task group, each prepared when its turn comes.

use std::ops::Range;

use crate::error::Error;
use crate::plan::job::Job;
use crate::plan::tasks::{Task, TaskGroup};
use crate::run::checksums::Checksum;
use crate::run::prepared_task::PreparedTask;

/// Tasks that go through memory together.
pub(crate) struct Batch<'a> {
    /// Its index in its group.
    pub(crate) index: usize,
    pub(crate) tasks: Vec<PreparedTask<'a>>,
    /// The checksum of what was read for each task, if checksums are asked for.
    pub(crate) checksums: Vec<Checksum>,
    /// The bytes that it may have in its buffer.
    pub(crate) budget: usize,
}

impl<'a> Batch<'a> {
    /// These tasks, with their plans, for a buffer of `budget` bytes.
    fn new(index: usize, tasks: &[Task], job: &'a Job, budget: usize) -> Result<Batch<'a>, Error> {
        let held: usize = tasks.iter().map(|task| task.held_bytes(job)).sum();
        let tasks = tasks.iter().map(|task| PreparedTask::new(*task, job));
        let tasks = tasks.collect::<Result<_, _>>()?;
        let budget = budget.saturating_sub(held);
        Ok(Batch { index, tasks, checksums: Vec::new(), budget })
    }

    pub(crate) fn source_bytes(&self) -> usize {
        self.tasks.iter().map(PreparedTask::source_bytes).sum()
    }

    pub(crate) fn is_copy(&self) -> bool {
        self.tasks.iter().all(PreparedTask::is_copy)
    }
}

/// Prepares one batch of a group after another.
pub(crate) struct Batches<'a, 'g> {
    pub(crate) job: &'a Job,
    pub(crate) group: &'g TaskGroup,
    /// The tasks of each batch of the group.
    pub(crate) ranges: &'g [Range<usize>],
    /// Which of them are yet to come.
    pub(crate) left: Range<usize>,
    /// The bytes of a buffer.
    pub(crate) budget: usize,
}

impl<'a> Iterator for Batches<'a, '_> {
    type Item = Result<Batch<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.left.next()?;
        let tasks = &self.group.tasks[self.ranges[index].clone()];
        Some(Batch::new(index, tasks, self.job, self.budget))
    }
}
