use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::shape::steps_to;

/// A table of indices. A block adds `scale` times the table entry for the current steps of its loops to the source
/// offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexTable {
    /// The table.
    pub indices: Arc<[usize]>,
    /// The entry for the first step of all loops.
    pub offset: usize,
    /// For each loop of the block, the distance between the entries of neighbouring steps.
    pub strides: Vec<isize>,
    /// The distance in the source between two neighbouring indices, in bytes.
    pub scale: isize,
}

impl IndexTable {
    /// The source offset for an entry, in bytes.
    pub fn at(&self, entry: usize) -> isize {
        self.scale.wrapping_mul(self.indices[entry].cast_signed())
    }

    pub(super) fn src_of(&self, index: &[usize]) -> isize {
        self.at(self.offset.wrapping_add_signed(steps_to(index, &self.strides)))
    }

    /// The source offset, if it is the same for all steps.
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
