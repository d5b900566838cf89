//! Rows whose elements are neighbours on both sides: in the same order, in the opposite one, or
//! rolled.

// Kernels.
pub(crate) mod regrouped;
pub(crate) mod reversed;
pub(crate) mod rolled;
pub(crate) mod rolled_short;
pub(crate) mod runs;

// What they are made of.
mod windows;

use crate::pattern::Space;

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
