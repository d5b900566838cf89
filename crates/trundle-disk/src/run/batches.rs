//! Prepares the batches of a task group one by one.

use std::ops::Range;

use crate::error::Error;
use crate::plan::job::Job;
use crate::plan::tasks::{Task, TaskGroup};
use crate::run::checksums::Checksum;
use crate::run::prepared_task::PreparedTask;

/// Tasks that are in memory at the same time.
pub(crate) struct Batch<'a> {
    pub(crate) index: usize,
    pub(crate) tasks: Vec<PreparedTask<'a>>,
    /// The checksum of each task's source, if checksums are needed.
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) budget: usize,
}

impl<'a> Batch<'a> {
    /// Prepares tasks for a buffer of `budget` bytes, which also holds their plans.
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

/// Iterates over the batches of a group.
pub(crate) struct Batches<'a, 'g> {
    pub(crate) job: &'a Job,
    pub(crate) group: &'g TaskGroup,
    pub(crate) ranges: &'g [Range<usize>],
    /// The batches that remain.
    pub(crate) left: Range<usize>,
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
