//! A table of indices that a block reads.

use std::fmt;
use std::sync::Arc;

/// What an index adds to where elements are read: `scale` times the entry of the table for the position of the
/// loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexTable {
    /// The table.
    pub indices: Arc<[usize]>,
    /// The entry of the first position.
    pub offset: usize,
    /// The distance in entries between neighbours along each loop of the block.
    pub strides: Vec<isize>,
    /// How far apart two neighbouring indices are in the source, in bytes.
    pub scale: isize,
}

impl IndexTable {
    /// What is added at an entry.
    pub fn at(&self, entry: usize) -> isize {
        self.scale.wrapping_mul(self.indices[entry].cast_signed())
    }

    /// What is added where the loops of the block are at `index`.
    pub(super) fn src_of(&self, index: &[usize]) -> isize {
        let steps = index.iter().zip(&self.strides).map(|(i, stride)| i.cast_signed() * stride);
        self.at(self.offset.wrapping_add_signed(steps.sum()))
    }

    /// What is added everywhere, if no loop has a stride.
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
