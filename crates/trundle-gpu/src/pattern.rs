//! The three patterns of kernels for moving blocks.

use std::fmt;

use trundle_core::{Block, Loop, Packing, Source};

use crate::access::common_grain;
use crate::part::{BlockPart, tables};

/// How the invocations of a kernel share the work of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// For long rows of wide elements. A workgroup writes a part of one row, each invocation [several
    /// words](crate::STORES_OF_RUNS). A source position is computed only when a new element begins.
    Runs,
    /// For transposes. A workgroup reads a tile along `across`, contiguous in the source, into shared memory, and
    /// writes it along `along`, contiguous in the destination.
    Tiles {
        /// The loop that is contiguous in the source, in either direction.
        across: usize,
        /// The loop that is contiguous in the destination.
        along: usize,
    },
    /// For all other blocks. Each invocation assembles a word or vector of the destination.
    Gather,
}

/// The minimum size of an element for [`Pattern::Runs`], in bytes. A guess: an invocation then seldom changes to
/// another element.
const RUN_BYTES: usize = 64;

/// The minimum size of a row for [`Pattern::Runs`], in bytes: as many as one workgroup writes.
const RUN_ROW_BYTES: usize = 4096;

/// The sizes of elements for tiles, in bytes. Elements of 4 bytes and more are accessed in words.
pub const TILE_BYTES: [usize; 6] = [1, 2, 4, 8, 12, 16];

/// The number of rows and of columns of a tile, which fits in the 16 KiB of shared memory that every device has.
pub const fn tile_edge(width: usize) -> usize {
    match width {
        ..=2 => 64,
        3..=8 => 32,
        _ => 16,
    }
}

impl Pattern {
    pub(crate) fn of(part: &BlockPart, packing: Option<Packing>) -> Pattern {
        if packing.is_some() {
            return Pattern::Gather;
        }
        // In a tile, smaller elements than a word must lie within one.
        let aligned = common_grain(&part.block, part.width).is_multiple_of(part.width.min(4));
        if aligned
            && TILE_BYTES.contains(&part.width)
            && let Some((across, along)) = tile_loops(&part.block, part.width)
            && [across, along].iter().all(|at| is_worth_a_tile(&part.block.loops[*at], part.width))
            && part.block.loops[across].affine_stride().is_some()
            && part.block.loops[along].affine_stride().is_some()
        {
            return Pattern::Tiles { across, along };
        }
        match part.width >= RUN_BYTES && part.row() >= RUN_ROW_BYTES {
            true => Pattern::Runs,
            false => Pattern::Gather,
        }
    }
}

/// Whether a loop is at least a quarter as long as a tile, which then uses most bytes of the memory lines that it
/// accesses.
fn is_worth_a_tile(each: &Loop, width: usize) -> bool {
    each.len >= tile_edge(width) / 4
}

/// The loops that are contiguous in the source and in the destination, if they differ. Both are affine or cut at a
/// constant index, and no table depends on them.
pub(crate) fn tile_loops(block: &Block, width: usize) -> Option<(usize, usize)> {
    let width = width.cast_signed();
    let is_plain = |at: usize| {
        block.loops[at].cut_by_table().is_none()
            && tables(block).all(|strides| strides[at] == 0)
            && block.loops[at].len > 1
    };
    let is_read_on = |at: usize| match &block.loops[at].src {
        Source::Affine { stride } => stride.abs() == width,
        Source::Cut(cut) => {
            cut.first.src_stride.abs() == width && cut.second.src_stride.abs() == width
        }
    };
    let loops = 0..block.loops.len();
    let along = loops.clone().find(|at| block.loops[*at].dst_stride == width && is_plain(*at))?;
    let across = loops.rev().find(|at| is_read_on(*at) && is_plain(*at))?;
    (across != along && !is_read_on(along)).then_some((across, along))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Runs => f.write_str("runs"),
            Pattern::Tiles { across, along } => write!(f, "tiles of loops {across} and {along}"),
            Pattern::Gather => f.write_str("gather"),
        }
    }
}
