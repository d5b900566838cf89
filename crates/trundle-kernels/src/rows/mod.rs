//! Kernels for rows that are contiguous in source and destination.

/// Calls a function with the largest of 1, 2 and 4 that divides all destination positions (combined by OR in
/// `$unaligned`), and the cache level for prefetches.
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
pub(crate) mod exchanged;
pub(crate) mod filled;
pub(crate) mod indexed_runs;
pub(crate) mod regrouped;
pub(crate) mod repeated;
pub(crate) mod reversed;
pub(crate) mod rolled;
pub(crate) mod rolled_short;
pub(crate) mod rotated;
pub(crate) mod runs;

// Parts of kernels.
mod windows;

use crate::pattern::Space;
use crate::tuning::Tuning;

/// Longer runs are cut into tiles of this many bytes, so that incomplete lines at the ends take little time and threads
/// share the tiles evenly. A guess: a fraction of a second-level cache.
const RUN_BYTES: usize = 256 << 10;

/// Tiles of shorter runs have about this many bytes, so that starting a tile takes little time.
const RUNS_BYTES: usize = 32 << 10;

/// A tile has several whole rows, or a part of one.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (_, cols)) = (space.pattern.width, space.pattern.lens);
    if cols * width > RUN_BYTES {
        (1, RUN_BYTES / width)
    } else {
        (RUNS_BYTES / (cols * width), cols)
    }
}

/// Returns the prefetch distance for rows that are `row_stride` bytes apart: for short rows a multiple of the stride.
pub(crate) fn bytes_ahead(row_stride: isize, tuning: &Tuning) -> isize {
    let (bytes, row) = (tuning.run_ahead, row_stride.unsigned_abs().max(1));
    if row <= 2 * bytes {
        ((bytes - 1) / row).max(1).cast_signed() * row_stride
    } else {
        bytes.cast_signed()
    }
}
