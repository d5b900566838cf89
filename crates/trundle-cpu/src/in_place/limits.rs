//! What a run in place may take.

use trundle_kernels::simd::LINE;

use super::grid::CellSize;

/// What a run may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: usize,
    /// The bytes beside the tensor.
    pub(super) scratch: usize,
    pub(super) cells: CellSize,
}

impl Limits {
    /// The bytes of a cell, at most: a thread may have two of them, which begin at lines.
    pub(super) fn cell_bytes(&self) -> usize {
        (self.scratch / self.threads / 2).saturating_sub(LINE)
    }

    /// The bytes that each thread may have beside the tensor.
    pub(super) fn slab(&self) -> usize {
        self.scratch / self.threads
    }
}
