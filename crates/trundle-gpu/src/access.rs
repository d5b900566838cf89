//! The units of memory accesses of kernels.

use std::fmt;

use trundle_core::{Block, Packing, Source};

/// The unit of one memory access, the *grain* that offsets and strides of a [`Launch`](crate::Launch) count.
///
/// Memory consists of 32-bit words. Smaller grains are assembled to words, whose other bits keep their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Packed elements.
    SubByte(Packing),
    /// Bytes, if something is not a multiple of a word.
    Bytes,
    /// Words of 4 bytes.
    Words,
    /// Vectors of 4 words.
    Vectors,
}

impl Access {
    /// The widest access that reaches every element of a block.
    pub(crate) fn of(block: &Block, width: usize, packing: Option<Packing>) -> Access {
        if let Some(packing) = packing {
            return Access::SubByte(packing);
        }
        let grain = common_grain(block, width);
        match grain {
            _ if grain.is_multiple_of(16) => Access::Vectors,
            _ if grain.is_multiple_of(4) => Access::Words,
            _ => Access::Bytes,
        }
    }

    /// The size of a grain in bytes; 1 for packed elements, which count one by one.
    pub fn grain(self) -> usize {
        match self {
            Access::SubByte(_) | Access::Bytes => 1,
            Access::Words => 4,
            Access::Vectors => 16,
        }
    }

    /// The number of grains in one store of an invocation: a word or a vector. For packed elements of 3 and 6 bits, a
    /// store is three words, because groups of elements end only there.
    pub fn store(self) -> usize {
        match self {
            Access::SubByte(packing) => 32 * self.store_words() / packing.bits(),
            Access::Bytes => 4,
            Access::Words | Access::Vectors => 1,
        }
    }

    /// The number of words in one store.
    pub fn store_words(self) -> usize {
        match self {
            Access::SubByte(packing) => packing.group_bytes(),
            Access::Bytes | Access::Words => 1,
            Access::Vectors => 4,
        }
    }

    /// The packing, if elements share bytes.
    pub fn packing(self) -> Option<Packing> {
        match self {
            Access::SubByte(packing) => Some(packing),
            _ => None,
        }
    }

    /// Converts bytes or packed elements to bytes, rounded down to a whole group.
    pub(crate) fn bytes_before(self, units: usize) -> usize {
        match self {
            Access::SubByte(packing) => units / packing.group() * packing.group_bytes(),
            _ => units,
        }
    }

    /// Converts bytes or packed elements to bytes, rounded up to a whole group.
    pub(crate) fn bytes_through(self, units: usize) -> usize {
        match self {
            Access::SubByte(packing) => units.div_ceil(packing.group()) * packing.group_bytes(),
            _ => units,
        }
    }

    /// Converts bytes to bytes or packed elements, rounded down to a whole group.
    pub(crate) fn units_of(self, bytes: usize) -> usize {
        match self {
            Access::SubByte(packing) => bytes / packing.group_bytes() * packing.group(),
            _ => bytes,
        }
    }
}

/// The maximum number of stores for a row of `row` grains, `store` grains each. The first row begins at `begin`.
/// `strides` belong to the loops over rows.
pub fn stores_of_row(
    row: usize,
    store: usize,
    begin: usize,
    mut strides: impl Iterator<Item = usize>,
) -> usize {
    let aligned = strides.all(|stride| stride.is_multiple_of(store));
    let before = if aligned { begin % store } else { store - 1 };
    (before + row).div_ceil(store)
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Access::SubByte(_) => "sub-byte elements",
            Access::Bytes => "bytes",
            Access::Words => "words",
            Access::Vectors => "vectors",
        })
    }
}

/// The greatest common divisor of all offsets, strides and the width of a block.
pub(crate) fn common_grain(block: &Block, width: usize) -> usize {
    let mut grain = width;
    for_each_distance(block, |distance| grain = common_divisor(grain, distance.unsigned_abs()));
    grain
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn for_each_distance(block: &Block, mut visit: impl FnMut(isize)) {
    visit(block.src_offset);
    visit(block.dst_offset);
    for each in &block.loops {
        visit(each.dst_stride);
        match &each.src {
            Source::Affine { stride } => visit(*stride),
            Source::Cut(cut) => {
                for run in [&cut.first, &cut.second] {
                    visit(run.src_offset);
                    visit(run.src_per_length);
                    visit(run.src_stride);
                }
            }
        }
    }
    block.indices.iter().for_each(|table| visit(table.scale));
}
