//! The memory that a batch is read to and written from.

use trundle::internal::prefer_large_pages;

use crate::error::Error;
use crate::run::batches::Batch;
use crate::run::prepared_task::PreparedTask;

/// The memory of a batch that is read and of one that is written.
#[derive(Default)]
pub(crate) struct Buffer {
    /// What was read.
    pub(crate) source: Vec<u8>,
    /// What is to be written.
    pub(crate) moved: Vec<u8>,
}

impl Buffer {
    /// Whether `batch` can be read while what was moved is written.
    pub(crate) fn has_room(&self, batch: &Batch<'_>) -> bool {
        let both = batch.source_bytes().saturating_add(self.moved.len());
        self.moved.is_empty() || both <= batch.budget
    }

    /// Makes room for the source of `batch`, or says how many bytes cannot be had; what is to be
    /// written stays.
    pub(crate) fn grow_source(&mut self, batch: &Batch<'_>) -> Result<(), usize> {
        let bytes = batch.source_bytes();
        shrink(&mut self.source, batch.budget.saturating_sub(self.moved.len()).max(bytes));
        grow(&mut self.source, bytes)
    }

    /// Makes room for what becomes of the source of `batch`, or says how many bytes cannot be had;
    /// nothing is left to be written.
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

    /// Brings what was read to memory's byte order.
    pub(crate) fn swap_bytes(&mut self, batch: &Batch<'_>) {
        let mut memory = &mut self.source[..];
        for task in &batch.tasks {
            let (own, rest) = std::mem::take(&mut memory).split_at_mut(task.source_bytes());
            memory = rest;
            task.swap_bytes(own);
        }
    }

    /// Moves what was read to where it is written from; what moved it is needed no more.
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

/// Gives a buffer back that is longer than `most`.
fn shrink(buffer: &mut Vec<u8>, most: usize) {
    if buffer.len() > most {
        *buffer = Vec::new();
    }
}

/// What has to be left beside a large buffer: a thread that finds no memory as it starts ends the
/// process without a message.
const SPARE_BYTES: usize = 4 << 20;

/// At least so long, without a copy of what was in it; or how many bytes cannot be had.
fn grow(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), usize> {
    if buffer.len() < bytes {
        *buffer = Vec::new();
        let spare = SPARE_BYTES.min(bytes / 8);
        // Only memory that comes as zeros from the system costs no pass over it, and nothing stable
        // reserves that without aborting where there is none: so it is tried first.
        Vec::<u8>::new().try_reserve_exact(bytes + spare).map_err(|_| bytes)?;
        *buffer = vec![0; bytes];
        prefer_large_pages(buffer);
    }
    Ok(())
}
