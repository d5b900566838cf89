//! The limits for moving a tensor within its own buffer.

use trundle_kernels::simd::LINE;

use super::grid::CellSize;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: usize,
    /// Scratch memory in bytes, for all threads.
    pub(super) scratch: usize,
    pub(super) cells: CellSize,
}

impl Limits {
    /// Returns the maximum size of a cell in bytes. A thread's scratch holds two cells, which begin at cache lines.
    pub(super) fn cell_bytes(&self) -> usize {
        (self.scratch / self.threads / 2).saturating_sub(LINE)
    }

    /// Returns the maximum size of a slab in bytes: the scratch of one thread.
    pub(super) fn slab(&self) -> usize {
        self.scratch / self.threads
    }
}
