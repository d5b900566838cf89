//! What is decided about a move before its buffers are known.

use trundle_core::{Move, Result};
use trundle_gpu::GpuMove;

use crate::launch::{Launch, Misaligned};
use crate::numbers::{Numbers, Sums};

/// A move as its launches, whatever device they are for.
pub(crate) struct Prepared {
    pub(crate) work: GpuMove,
    /// The bytes of which everything is a multiple.
    grain: usize,
    sums: Vec<Sums>,
    /// The launches where both buffers begin at multiples of 16 bytes, as whole allocations do.
    aligned: Vec<Launch>,
}

impl Prepared {
    /// Prepares a move; gives what its kernels read beside the source, too.
    pub(crate) fn of(work: &Move) -> Result<(Prepared, Numbers)> {
        let (grain, work) = (work.grain_bytes(), GpuMove::of(work));
        let mut numbers = Numbers::default();
        let sums = work.blocks().iter().map(|block| numbers.sums(block)).collect();
        let mut prepared = Prepared { work, grain, sums, aligned: Vec::new() };
        prepared.aligned = (0..prepared.launches())
            .map(|at| prepared.made(at, Misaligned::default()))
            .collect::<Result<_>>()?;
        Ok((prepared, numbers))
    }

    /// How many launches there are, one for each block.
    pub(crate) fn launches(&self) -> usize {
        self.work.blocks().len()
    }

    /// One of them.
    pub(crate) fn launch(&self, at: usize, misaligned: Misaligned) -> Result<Launch> {
        match misaligned == Misaligned::default() {
            true => Ok(self.aligned[at].clone()),
            false => self.made(at, misaligned),
        }
    }

    fn made(&self, at: usize, misaligned: Misaligned) -> Result<Launch> {
        Launch::of(&self.work.blocks()[at], self.grain, misaligned, self.sums[at])
    }
}
