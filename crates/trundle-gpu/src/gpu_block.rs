//! Blocks of moves, each with how invocations share its work.

use std::fmt;

use trundle_core::{Block, Packing};

use crate::part::Part;
use crate::{Access, Pattern};

/// A block of a [`GpuMove`](crate::GpuMove).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuBlock {
    /// Loops around one element, as those of a [`Move`](trundle_core::Move). A block of tiles has no cut in the two loops of its tiles.
    pub block: Block,
    /// The size of an element in bytes; of sub-byte elements, how many stay together.
    pub width: usize,
    /// What one access reads and writes.
    pub access: Access,
    /// How invocations share the work.
    pub pattern: Pattern,
}

impl GpuBlock {
    pub(crate) fn of(part: Part, packing: Option<Packing>) -> GpuBlock {
        let access = Access::of(&part.block, part.width, packing);
        let pattern = Pattern::of(&part, packing);
        let access = match pattern {
            Pattern::Tiles { .. } if part.width >= 4 => Access::Words,
            Pattern::Tiles { .. } => Access::Bytes,
            _ => access,
        };
        GpuBlock { block: part.block, width: part.width, access, pattern }
    }

    /// The part that is all of this.
    pub(crate) fn part(&self) -> Part {
        Part { block: self.block.clone(), width: self.width }
    }

    /// How many of the loops are around rows, the outermost; the elements of the others follow each other in the destination
    /// without gaps.
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
