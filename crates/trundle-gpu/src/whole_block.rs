//! Blocks of a move before they are split for the generic kernels.

use std::ops::Range;

use trundle_core::{Block, Packing};

/// A block of a [`Move`](trundle_core::Move), for a [specialised kernel](crate::SpecialisedKernel).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeBlock {
    /// The loops.
    pub block: Block,
    /// The size of an element in bytes. For packed elements, the number of elements that move together.
    pub width: usize,
    /// The packing, if elements share bytes.
    pub packing: Option<Packing>,
    /// The range of bytes of the source buffer that the block reads. With a table, not every byte is read.
    pub reads: Range<usize>,
    /// The indices of the blocks of the [`GpuMove`](crate::GpuMove) that together move the same elements.
    pub parts: Range<usize>,
}
