//! The three patterns by which blocks are moved.

use std::fmt;

use trundle_core::{Block, Loop, Packing, Source};

use crate::access::common_grain;
use crate::part::{Part, tables};

/// How the invocations of a kernel share the work of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Long runs: a workgroup writes a stretch of one row, each invocation [some words](crate::STORES_OF_RUNS) of it, and
    /// asks where it is read only where another element begins.
    Runs,
    /// A transpose: a workgroup reads the rows of a tile along `across`, whose steps are neighbours in the source, and writes
    /// its columns along `along`, whose steps are neighbours in the destination, through shared memory.
    Tiles {
        /// The loop whose steps are neighbours in the source, upwards or downwards.
        across: usize,
        /// The loop whose steps are neighbours in the destination.
        along: usize,
    },
    /// Each invocation makes one word of the destination, or vector, of whatever elements it has.
    Gather,
}

/// Elements of at least so many bytes in rows of at least [`RUN_ROW_BYTES`] are runs: a guess, which leaves an invocation
/// few changes from one to the next.
const RUN_BYTES: usize = 64;

/// See [`RUN_BYTES`]: a workgroup's stretch of one row.
const RUN_ROW_BYTES: usize = 4096;

/// The widths of elements of which tiles are made. Those of 4 bytes and more are taken by words.
pub const TILE_BYTES: [usize; 6] = [1, 2, 4, 8, 12, 16];

/// The steps of a tile in both directions, of elements of a width in bytes: a tile takes less than the 16 KiB of shared
/// memory that every device has.
pub const fn tile_edge(width: usize) -> usize {
    match width {
        ..=2 => 64,
        3..=8 => 32,
        _ => 16,
    }
}

impl Pattern {
    /// The pattern for a part.
    pub(crate) fn of(part: &Part, packing: Option<Packing>) -> Pattern {
        if packing.is_some() {
            return Pattern::Gather;
        }
        // No element of a tile is in two words and not all of them.
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

/// A quarter of a tile's edge, at which most of what a tile reads and writes at once is its own.
fn is_worth_a_tile(each: &Loop, width: usize) -> bool {
    each.len >= tile_edge(width) / 4
}

/// The loop along which a block is read and the one along which it is written, if they differ: both affine, or cut at a
/// constant, and varied by no table.
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
