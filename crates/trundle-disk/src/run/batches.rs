//! Prepares the batches of a task group one at a time, and moves their elements in memory.

use std::ops::Range;

use trundle::internal::prefer_large_pages;

use crate::error::Error;
use crate::plan::job::Job;
use crate::plan::tasks::{Task, TaskGroup};
use crate::run::checksums::Checksum;
use crate::run::prepared_task::PreparedTask;

/// Tasks whose elements are in memory at the same time.
pub(crate) struct Batch<'a> {
    pub(crate) index: usize,
    pub(crate) tasks: Vec<PreparedTask<'a>>,
    /// The checksum of each task's source; empty unless checksums are needed.
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) budget: usize,
}

impl<'a> Batch<'a> {
    /// Prepares tasks. Their plans and their elements together may use `budget` bytes.
    fn new(index: usize, tasks: &[Task], job: &'a Job, budget: usize) -> Result<Batch<'a>, Error> {
        let held_bytes: usize = tasks.iter().map(|task| task.held_bytes(job)).sum();
        let tasks = tasks.iter().map(|task| PreparedTask::new(*task, job));
        let tasks = tasks.collect::<Result<_, _>>()?;
        let budget = budget.saturating_sub(held_bytes);
        Ok(Batch { index, tasks, checksums: Vec::new(), budget })
    }

    pub(crate) fn source_bytes(&self) -> usize {
        self.tasks.iter().map(PreparedTask::source_bytes).sum()
    }

    pub(crate) fn is_copy(&self) -> bool {
        self.tasks.iter().all(PreparedTask::is_copy)
    }
}

pub(crate) struct Batches<'a, 'g> {
    pub(crate) job: &'a Job,
    pub(crate) group: &'g TaskGroup,
    pub(crate) ranges: &'g [Range<usize>],
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

/// The source of one batch, and the moved elements of the same or another batch.
#[derive(Default)]
pub(crate) struct Buffer {
    pub(crate) source: Vec<u8>,
    pub(crate) moved: Vec<u8>,
}

impl Buffer {
    /// Returns whether the source of `batch` fits into memory together with the moved elements that are being written.
    pub(crate) fn has_room(&self, batch: &Batch<'_>) -> bool {
        let both = batch.source_bytes().saturating_add(self.moved.len());
        self.moved.is_empty() || both <= batch.budget
    }

    /// Allocates the source of `batch` and keeps `moved`. Fails with the number of bytes that could not be allocated.
    pub(crate) fn grow_source(&mut self, batch: &Batch<'_>) -> Result<(), usize> {
        let bytes = batch.source_bytes();
        shrink(&mut self.source, batch.budget.saturating_sub(self.moved.len()).max(bytes));
        grow(&mut self.source, bytes)
    }

    /// Allocates the output of `batch` and discards `moved`. Fails with the number of bytes that could not be
    /// allocated.
    pub(crate) fn grow_moved(&mut self, batch: &Batch<'_>) -> Result<(), usize> {
        if batch.is_copy() {
            return Ok(());
        }
        let moved = batch.tasks.iter().map(PreparedTask::written_bytes).sum();
        if self.source.len().saturating_add(moved) > batch.budget {
            self.source.truncate(batch.source_bytes());
            self.source.shrink_to_fit();
        }
        shrink(&mut self.moved, batch.budget.saturating_sub(self.source.len()).max(moved));
        grow(&mut self.moved, moved)
    }

    /// Swaps source elements to little-endian.
    pub(crate) fn swap_bytes(&mut self, batch: &Batch<'_>) {
        let mut memory = &mut self.source[..];
        for read in batch.tasks.iter().flat_map(|task| &task.reads) {
            let (own, rest) = std::mem::take(&mut memory).split_at_mut(read.bytes);
            memory = rest;
            if let Some(element) = read.swapped {
                element.make_little_endian(own);
            }
        }
    }

    pub(crate) fn move_elements(&mut self, batch: &mut Batch<'_>) -> Result<(), Error> {
        if batch.is_copy() {
            std::mem::swap(&mut self.source, &mut self.moved);
        } else {
            let (mut from, mut to) = (&self.source[..], &mut self.moved[..]);
            for task in &batch.tasks {
                let (source, rest) = from.split_at(task.source_bytes());
                from = rest;
                let (moved, rest) = std::mem::take(&mut to).split_at_mut(task.written_bytes());
                to = rest;
                task.run(source, moved)?;
            }
        }
        batch.tasks.iter_mut().for_each(PreparedTask::drop_plans);
        Ok(())
    }
}

fn shrink(buffer: &mut Vec<u8>, most: usize) {
    if buffer.len() > most {
        *buffer = Vec::new();
    }
}

/// The bytes to leave free next to a large buffer. A thread that cannot allocate when it starts aborts the process
/// without a message.
const SPARE_BYTES: usize = 4 << 20;

/// Makes a buffer at least `bytes` long, without its old content. Fails with the number of bytes.
fn grow(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), usize> {
    if buffer.len() < bytes {
        *buffer = Vec::new();
        let spare = SPARE_BYTES.min(bytes / 8);
        // `vec![0; n]` gets zeroed pages from the system without writing to them, but aborts if there is no memory, and
        // stable Rust has no fallible form. So try to reserve the memory first.
        Vec::<u8>::new().try_reserve_exact(bytes + spare).map_err(|_| bytes)?;
        *buffer = vec![0; bytes];
        prefer_large_pages(buffer);
    }
    Ok(())
}
