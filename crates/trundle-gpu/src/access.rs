//! What one access to memory reads or writes.

use std::fmt;

use trundle_core::{Block, Packing, Source};

/// What one access to memory reads or writes: the *grain* that the offsets and strides of a [`Launch`](crate::Launch) count.
///
/// Memory is words of 32 bits. Grains of less than a word are put together to words, and what else is in these stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Elements that share bytes.
    SubByte(Packing),
    /// Bytes: something begins between two words.
    Bytes,
    /// Words of 4 bytes.
    Words,
    /// Vectors of 4 words.
    Vectors,
}

impl Access {
    /// The widest access by which all of a block can be reached.
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

    /// The grain in bytes; packed elements are counted one by one.
    pub fn grain(self) -> usize {
        match self {
            Access::SubByte(_) | Access::Bytes => 1,
            Access::Words => 4,
            Access::Vectors => 16,
        }
    }

    /// The grains of one store, by one invocation: a word, or a vector. Packed elements of 3 and 6 bits do not end with
    /// words: three words have whole groups of them.
    pub fn store(self) -> usize {
        match self {
            Access::SubByte(packing) => 32 * self.store_words() / packing.bits(),
            Access::Bytes => 4,
            Access::Words | Access::Vectors => 1,
        }
    }

    /// The words of one store.
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

    /// What a block counts by, bytes or packed elements, as bytes: from where on, down to a whole group.
    pub(crate) fn bytes_before(self, units: usize) -> usize {
        match self {
            Access::SubByte(packing) => units / packing.group() * packing.group_bytes(),
            _ => units,
        }
    }

    /// The same: to where, up to a whole group.
    pub(crate) fn bytes_through(self, units: usize) -> usize {
        match self {
            Access::SubByte(packing) => units.div_ceil(packing.group()) * packing.group_bytes(),
            _ => units,
        }
    }

    /// Bytes as what a block counts by: whole groups.
    pub(crate) fn units_of(self, bytes: usize) -> usize {
        match self {
            Access::SubByte(packing) => bytes / packing.group_bytes() * packing.group(),
            _ => bytes,
        }
    }
}

/// How many stores of some size a row takes, wherever it begins: the first row at `begin`, the others at these distances.
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

/// The bytes of which everything in a block is a multiple: where elements begin, and their width.
pub(crate) fn common_grain(block: &Block, width: usize) -> usize {
    let mut grain = width;
    for_each_distance(block, |distance| grain = common_divisor(grain, distance.unsigned_abs()));
    grain
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Calls `visit` with every distance that the offset of an element is made of.
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
