//! Rows whose elements are neighbours on both sides: in the same order, in the opposite one, rolled, or with
//! something filled in around them.

/// Calls a function of a vector, the largest of 1, 2 and 4 that all places in the destination are multiples of, and the level
/// of the cache to prefetch into, which are constants of it.
macro_rules! by_grain_and_level {
    ($unaligned:expr, $level:expr, $run:ident::<$vector:ident>$arguments:tt) => {
        match ($unaligned.trailing_zeros(), $level) {
            (0, Level::L1) => $run::<$vector, 1, L1>$arguments,
            (0, Level::L2) => $run::<$vector, 1, L2>$arguments,
            (1, Level::L1) => $run::<$vector, 2, L1>$arguments,
            (1, Level::L2) => $run::<$vector, 2, L2>$arguments,
            (_, Level::L1) => $run::<$vector, 4, L1>$arguments,
            (_, Level::L2) => $run::<$vector, 4, L2>$arguments,
        }
    };
}

// Kernels.
pub(crate) mod climbed;
pub(crate) mod exchanged;
pub(crate) mod filled;
pub(crate) mod indexed_runs;
pub(crate) mod regrouped;
pub(crate) mod repeated;
pub(crate) mod reversed;
pub(crate) mod rolled;
pub(crate) mod rolled_short;
pub(crate) mod runs;

// What they are made of.
mod windows;

use crate::pattern::Space;
use crate::tuning::Tuning;

/// Longer runs are cut into tiles of this many bytes: enough to make the partial lines at their ends
/// cheap, and little enough to be shared evenly (a guess: a fraction of a second-level cache).
const RUN_BYTES: usize = 256 << 10;

/// Shorter runs are put together into tiles of this many bytes: enough to make their set-up cheap.
const RUNS_BYTES: usize = 32 << 10;

/// Tiles of whole rows, or of parts of one.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (_, cols)) = (space.pattern.width, space.pattern.lens);
    if cols * width > RUN_BYTES {
        (1, RUN_BYTES / width)
    } else {
        (RUNS_BYTES / (cols * width), cols)
    }
}

/// How far ahead of what is moved the source is read that is prefetched, in bytes, where rows are `row_stride` apart:
/// of short ones, which are read in turn, it is so many rows.
pub(crate) fn bytes_ahead(row_stride: isize, tuning: &Tuning) -> isize {
    let (bytes, row) = (tuning.run_ahead, row_stride.unsigned_abs().max(1));
    if row <= 2 * bytes {
        ((bytes - 1) / row).max(1).cast_signed() * row_stride
    } else {
        bytes.cast_signed()
    }
}
