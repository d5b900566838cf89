//! The kernels by name.

use trundle_core::Packing;

/// A kernel of `kernels/kernels.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// Each thread makes some stores, of elements that grains of so many bytes make up.
    Gather { grain: usize },
    /// One store each, of packed elements.
    GatherSubByte(Packing),
    /// Vectors of what follows each other in the source, too, whose ends are made by grains of so many bytes.
    Runs { grain: usize },
    /// Tiles of elements of so many units of so many bytes.
    Tiles { unit: usize, count: usize },
}

/// All that there are, as [`Kernel::number`] counts them.
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
    /// Which of the [`NAMES`] it has.
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

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        NAMES[self.number()]
    }
}
