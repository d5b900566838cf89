//! The kernels and their names in the PTX.

use trundle_core::Packing;

/// A kernel of `kernels/kernels.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// Each thread does several stores. Elements are read in accesses of `grain` bytes.
    Gather { grain: usize },
    /// Each thread does one store of packed elements.
    GatherSubByte(Packing),
    /// Copies runs that are contiguous in the source by stores of vectors, and their ends in accesses of `grain` bytes.
    Runs { grain: usize },
    /// Transposes tiles. An element has `count` units of `unit` bytes.
    Tiles { unit: usize, count: usize },
}

/// Kernel names, indexed by [`Kernel::number`].
pub(crate) const NAMES: [&str; 19] = [
    "gather_1",
    "gather_2",
    "gather_4",
    "gather_8",
    "gather_16",
    "gather_sub_byte",
    "runs_1",
    "runs_2",
    "runs_4",
    "runs_8",
    "runs_16",
    "tiles_1",
    "tiles_2",
    "tiles_4",
    "tiles_8",
    "tiles_16",
    "tiles_4_x2",
    "tiles_4_x3",
    "tiles_4_x4",
];

impl Kernel {
    pub(crate) fn number(self) -> usize {
        let by_size = |bytes: usize| bytes.trailing_zeros() as usize;
        match self {
            Kernel::Gather { grain } => by_size(grain),
            Kernel::GatherSubByte(_) => 5,
            Kernel::Runs { grain } => 6 + by_size(grain),
            Kernel::Tiles { unit, count: 1 } => 11 + by_size(unit),
            Kernel::Tiles { count, .. } => 14 + count,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[self.number()]
    }
}
