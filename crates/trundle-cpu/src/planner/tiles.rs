//! How many rows and columns a tile has.

use trundle_core::Loop;
use trundle_kernels::simd::LINE;
use trundle_kernels::{
    MOST_SHORT_ROW_BYTES, Pattern, Store, best_lanes, is_deinterleaved, is_interleaved, is_sub_line,
};

use super::pattern;
use crate::plan::Place;

/// Longer runs are cut into units of this many bytes: enough to make the partial lines at their ends
/// cheap, and little enough to be shared evenly (a guess: a fraction of a second-level cache).
pub(super) const RUN_UNIT_BYTES: usize = 256 << 10;

/// Shorter runs are put together into units of this many bytes: enough to make their set-up cheap.
const RUNS_UNIT_BYTES: usize = 32 << 10;

/// Pixels are put together into units of about this many bytes: whole lines in every plane.
const PIXELS_UNIT_BYTES: usize = 64 << 10;

/// Narrow rows of lanes are put together into units of about this many bytes, with all slabs that are
/// within: lines at their ends are few.
pub(super) const LANES_UNIT_BYTES: usize = 64 << 10;

/// How far a transposed tile reaches along the source's neighbours: as many lines as make a burst
/// that memory serves well (measured; docs/kernels.md).
const TRANSPOSED_ROW_BYTES: usize = 16 * 64;

/// Up to how many bytes the source's neighbours are not cut, if they are whole lines each: what is
/// read is then one stretch where the columns follow each other.
const WHOLE_ROW_BYTES: usize = 8 << 10;

/// The same where rows are short and follow each other in the destination.
const JOINED_ROW_BYTES: usize = 32 * 64;

/// How many rows a transposed tile has at most: what they carry stays near. Bytes that are streamed
/// have more, since memory serves runs of 256 bytes slowly.
const TRANSPOSED_ROWS: usize = 256;
const TRANSPOSED_ROWS_OF_BYTES: usize = 512;

/// How many columns a transposed tile has at least and, where tasks are large enough, at most: the
/// first strip of a tile is not bundled while another is transposed (measured; docs/kernels.md).
const TRANSPOSED_COLS: usize = 1024;
const MOST_TRANSPOSED_COLS: usize = 4096;

/// The sides of a tile that is moved element by element: its lines stay in the first-level cache
/// on both sides.
const STRIDED_SIDE: usize = 64;

/// How many rows and how many columns a tile has, of as many as there are.
pub(super) fn tile(
    place: Place,
    width: usize,
    rows: Loop,
    cols: Loop,
    counts: (usize, usize),
) -> (usize, usize) {
    let runs = cols.src_stride.unsigned_abs() == width || place == Place::Cols;
    let transposed = rows.src_stride.unsigned_abs() == width;
    let pattern = pattern(width, rows, cols, counts);
    let pixels = |width: usize, channels: usize| PIXELS_UNIT_BYTES / (channels * width * 64) * 64;
    let (row_block, col_block) = if place == Place::Lanes {
        lane_tile(&pattern, counts.0)
    } else if runs && cols.len * width > RUN_UNIT_BYTES {
        (1, RUN_UNIT_BYTES / width)
    } else if runs {
        (RUNS_UNIT_BYTES / (cols.len * width), cols.len)
    } else if is_deinterleaved(&pattern, LINE) {
        (rows.len, pixels(width, rows.len))
    } else if is_interleaved(&pattern, LINE) {
        (pixels(width, cols.len), cols.len)
    } else if transposed {
        ((TRANSPOSED_ROW_BYTES / width).min(TRANSPOSED_ROWS), TRANSPOSED_COLS)
    } else {
        (STRIDED_SIDE, STRIDED_SIDE)
    };
    (row_block.clamp(1, counts.0), col_block.clamp(1, counts.1))
}

/// How many rows and how many columns a tile of lanes has, of `count` rows, which may go on through
/// slabs.
fn lane_tile(pattern: &Pattern, count: usize) -> (usize, usize) {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    if is_sub_line(pattern, LINE) {
        let most = LANES_UNIT_BYTES / (cols * width);
        return (if count > rows { most / rows * rows } else { most }, cols);
    }
    let (rows, bytes) = best_lanes(rows);
    (rows, bytes / width)
}

/// [`tile`] for a kernel that transposes squares, of tasks of about `share` bytes.
pub(super) fn transposed_tile(
    width: usize,
    rows: Loop,
    cols: Loop,
    counts: (usize, usize),
    store: Store,
    share: usize,
) -> (usize, usize) {
    let col_bytes = cols.len * width;
    let joined = col_bytes <= MOST_SHORT_ROW_BYTES && rows.dst_stride == col_bytes.cast_signed();
    let (row_block, col_block) = if joined && store == Store::Streaming {
        (JOINED_ROW_BYTES / width, cols.len)
    } else {
        let bytes = width == 1 && store == Store::Streaming;
        let most = if bytes { TRANSPOSED_ROWS_OF_BYTES } else { TRANSPOSED_ROWS };
        let whole = width >= LINE && counts.0 * width <= WHOLE_ROW_BYTES;
        let row_block = if whole { counts.0 } else { (TRANSPOSED_ROW_BYTES / width).min(most) };
        let cols = share / (row_block * width);
        (row_block, cols.clamp(TRANSPOSED_COLS, MOST_TRANSPOSED_COLS))
    };
    (row_block.clamp(1, counts.0), col_block.clamp(1, counts.1))
}
