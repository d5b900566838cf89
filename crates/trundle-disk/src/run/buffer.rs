//! The memory of a batch.

use trundle::internal::prefer_large_pages;

use crate::error::Error;
use crate::run::batches::Batch;
use crate::run::prepared_task::PreparedTask;

/// The source of a batch, and the output of a batch.
#[derive(Default)]
pub(crate) struct Buffer {
    pub(crate) source: Vec<u8>,
    pub(crate) moved: Vec<u8>,
}

impl Buffer {
    /// Whether `batch` fits into memory together with the bytes that are being written.
    pub(crate) fn has_room(&self, batch: &Batch<'_>) -> bool {
        let both = batch.source_bytes().saturating_add(self.moved.len());
        self.moved.is_empty() || both <= batch.budget
    }

    /// Allocates the source of `batch`; keeps `moved`. Fails with the number of bytes that could not be allocated.
    pub(crate) fn grow_source(&mut self, batch: &Batch<'_>) -> Result<(), usize> {
        let bytes = batch.source_bytes();
        shrink(&mut self.source, batch.budget.saturating_sub(self.moved.len()).max(bytes));
        grow(&mut self.source, bytes)
    }

    /// Allocates the output of `batch`; discards `moved`. Fails with the number of bytes that could not be allocated.
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

    /// Swaps the source to the byte order of memory.
    pub(crate) fn swap_bytes(&mut self, batch: &Batch<'_>) {
        let mut memory = &mut self.source[..];
        for task in &batch.tasks {
            let (own, rest) = std::mem::take(&mut memory).split_at_mut(task.source_bytes());
            memory = rest;
            task.swap_bytes(own);
        }
    }

    /// Moves the elements of the source to the output and drops the plans.
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

/// Frees a buffer that is longer than `most`.
fn shrink(buffer: &mut Vec<u8>, most: usize) {
    if buffer.len() > most {
        *buffer = Vec::new();
    }
}

/// The memory to leave free in addition to a large buffer: a thread that cannot allocate at its start aborts the
/// process without a message.
const SPARE_BYTES: usize = 4 << 20;

/// Makes a buffer at least `bytes` long, without its old contents. Fails with the number of bytes.
fn grow(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), usize> {
    if buffer.len() < bytes {
        *buffer = Vec::new();
        let spare = SPARE_BYTES.min(bytes / 8);
        // `vec![0; n]` gets zeroed pages from the system without writing to them, but it aborts when memory runs out,
        // and no stable fallible form exists. So a reservation is tried first.
        Vec::<u8>::new().try_reserve_exact(bytes + spare).map_err(|_| bytes)?;
        *buffer = vec![0; bytes];
        prefer_large_pages(buffer);
    }
    Ok(())
}
