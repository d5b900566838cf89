//! Tables of indices that a block reads.

use std::fmt;
use std::sync::Arc;

use crate::shape::steps_to;

/// An offset from a table: adds `scale` times the table entry for the position of the loops to the source
/// offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexTable {
    /// The table.
    pub indices: Arc<[usize]>,
    /// The entry for the first position.
    pub offset: usize,
    /// The distance in entries between neighbours along each loop of the block.
    pub strides: Vec<isize>,
    /// The distance in the source between two neighbouring indices, in bytes.
    pub scale: isize,
}

impl IndexTable {
    /// Offset for an entry.
    pub fn at(&self, entry: usize) -> isize {
        self.scale.wrapping_mul(self.indices[entry].cast_signed())
    }

    /// Offset at position `index` of the block's loops.
    pub(super) fn src_of(&self, index: &[usize]) -> isize {
        self.at(self.offset.wrapping_add_signed(steps_to(index, &self.strides)))
    }

    /// The constant offset, if no loop has a stride.
    pub(super) fn constant(&self) -> Option<isize> {
        self.strides.iter().all(|stride| *stride == 0).then(|| self.at(self.offset))
    }
}

impl fmt::Display for IndexTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IndexTable { strides, scale, offset, .. } = self;
        write!(f, "{scale:+}·index of entry {offset} {strides:+?}")
    }
}
