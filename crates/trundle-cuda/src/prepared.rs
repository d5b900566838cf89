//! What is decided about a move before its buffers are known.

use std::borrow::Cow;

use trundle_core::{Error, Move, Result};
use trundle_gpu::{GpuBlock, GpuMove, LaunchSummary};

use crate::launch::{Launch, Misaligned};
use crate::numbers::{Numbers, Sums};

/// A move as its launches, whatever device they are for.
pub(crate) struct Prepared {
    pub(crate) work: GpuMove,
    /// The bytes of which everything is a multiple.
    grain: usize,
    sums: Vec<Sums>,
    /// The launches where both buffers begin at multiples of 16 bytes, as whole allocations do.
    aligned: Result<Vec<Launch>>,
}

impl Prepared {
    /// Prepares a move; gives what its kernels read beside the source, too.
    pub(crate) fn of(work: &Move) -> (Prepared, Numbers) {
        let (grain, work) = (work.grain_bytes(), GpuMove::of(work));
        let mut numbers = Numbers::default();
        let sums = work.blocks().iter().map(|block| numbers.sums(block)).collect();
        let mut prepared = Prepared { work, grain, sums, aligned: Ok(Vec::new()) };
        prepared.aligned = prepared.made(Misaligned::default());
        (prepared, numbers)
    }

    /// What is said of each launch, where both buffers begin at multiples of 16 bytes.
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

    /// The launches, one for each block. Those of whole allocations are there already.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if one is more than a launch can do.
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
