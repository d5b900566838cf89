//! Blocks of a move, with the access unit and the pattern of each.

use std::fmt;

use trundle_core::{Block, Packing};

use crate::part::BlockPart;
use crate::{Access, Pattern};

/// A block of a [`GpuMove`](crate::GpuMove).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuBlock {
    /// The loops, as in a [`Move`](trundle_core::Move). The two loops of [`Pattern::Tiles`] are not cut.
    pub block: Block,
    /// The size of an element in bytes. For packed elements, the number of elements that move together.
    pub width: usize,
    /// The unit of one memory access.
    pub access: Access,
    /// How invocations share the work.
    pub pattern: Pattern,
}

impl GpuBlock {
    pub(crate) fn of(part: BlockPart, packing: Option<Packing>) -> GpuBlock {
        let access = Access::of(&part.block, part.width, packing);
        let pattern = Pattern::of(&part, packing);
        let access = match pattern {
            Pattern::Tiles { .. } if part.width >= 4 => Access::Words,
            Pattern::Tiles { .. } => Access::Bytes,
            _ => access,
        };
        GpuBlock { block: part.block, width: part.width, access, pattern }
    }

    pub(crate) fn part(&self) -> BlockPart {
        BlockPart { block: self.block.clone(), width: self.width }
    }

    /// The number of outer loops, which go over rows. The others make up a row, contiguous in the destination.
    pub fn row_loops(&self) -> usize {
        self.part().row_loops()
    }
}

impl fmt::Display for GpuBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GpuBlock { block, width, access, pattern } = self;
        match access.packing() {
            None => write!(f, "{pattern}, {width}-byte elements by {access}")?,
            Some(packing) => write!(f, "{pattern}, {width} x {}-bit elements", packing.bits())?,
        }
        write!(f, "\n    {block}")
    }
}
