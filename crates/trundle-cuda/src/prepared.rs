//! The part of a plan that needs neither buffers nor a device.

use std::borrow::Cow;

use trundle_core::{Error, Move, Result};
use trundle_gpu::{GpuBlock, GpuMove, LaunchSummary};

use crate::launch::{Launch, Misaligned};
use crate::numbers::{Numbers, Sums};

/// The launches of a move, without buffers or a device.
pub(crate) struct Prepared {
    pub(crate) work: GpuMove,
    /// Greatest common divisor of all offsets and sizes, in bytes.
    grain: usize,
    sums: Vec<Sums>,
    /// The position of the first entry of the length table that cuts each whole block, in 64-bit values.
    pub(crate) whole_lengths: Vec<u64>,
    /// The launches for buffers that are aligned to 16 bytes, as whole allocations are.
    aligned: Result<Vec<Launch>>,
}

impl Prepared {
    /// Prepares a move. Also returns the tables that must be copied to the device.
    pub(crate) fn of(work: &Move) -> (Prepared, Numbers) {
        let (grain, work) = (work.grain_bytes(), GpuMove::of(work));
        let mut numbers = Numbers::default();
        let sums = work.blocks().iter().map(|block| numbers.sums(block)).collect();
        let whole = work.whole_blocks().iter();
        let whole_lengths = whole.map(|whole| numbers.length_entry(&whole.block)).collect();
        let mut prepared = Prepared { work, grain, sums, whole_lengths, aligned: Ok(Vec::new()) };
        prepared.aligned = prepared.made(Misaligned::default());
        (prepared, numbers)
    }

    /// Returns summaries of the launches for buffers that are aligned to 16 bytes.
    ///
    /// # Errors
    /// As [`Prepared::launches`].
    pub(crate) fn summaries(&self) -> Result<Vec<LaunchSummary>> {
        let launches = self.launches(Misaligned::default())?;
        let blocks = self.work.blocks().iter().enumerate().zip(&*launches);
        let summary = |((block, of), launch): ((usize, &GpuBlock), &Launch)| LaunchSummary {
            block,
            kernel: launch.kernel.name().to_owned(),
            workgroups: launch.blocks,
            reads: self.work.reads(of),
            writes: self.work.writes(of),
            windows: None,
        };
        Ok(blocks.map(summary).collect())
    }

    /// Returns one launch for each block. Those for aligned buffers were computed before.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if a block is too large for one launch.
    pub(crate) fn launches(&self, misaligned: Misaligned) -> Result<Cow<'_, [Launch]>> {
        match misaligned == Misaligned::default() {
            true => self.aligned.as_deref().map(Cow::Borrowed).map_err(Error::clone),
            false => self.made(misaligned).map(Cow::Owned),
        }
    }

    fn made(&self, misaligned: Misaligned) -> Result<Vec<Launch>> {
        let blocks = self.work.blocks().iter().zip(&self.sums);
        blocks.map(|(block, sums)| Launch::of(block, self.grain, misaligned, *sums)).collect()
    }
}
