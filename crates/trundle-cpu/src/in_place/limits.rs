//! The limits of a run in place.

use trundle_kernels::simd::LINE;

use super::grid::CellSize;

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: usize,
    /// Scratch memory in bytes, for all threads.
    pub(super) scratch: usize,
    pub(super) cells: CellSize,
}

impl Limits {
    /// Returns the largest size of a cell in bytes. A thread may hold two cells, which begin at cache lines.
    pub(super) fn cell_bytes(&self) -> usize {
        (self.scratch / self.threads / 2).saturating_sub(LINE)
    }

    /// Returns the scratch memory of each thread in bytes.
    pub(super) fn slab(&self) -> usize {
        self.scratch / self.threads
    }
}
