//! The strides of a tile, and which kernels are right for them.

use super::channels::MOST_CHANNELS;
use super::windows;
use crate::simd::LINE;

/// The strides of a tile, by which a kernel is picked.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The size of an element in bytes.
    pub width: usize,
    /// The distances between rows, in the source and in the destination, in bytes.
    pub row_strides: (isize, isize),
    /// The distances between the elements of a row, in the source and in the destination.
    pub col_strides: (isize, isize),
    /// The number of rows and the number of columns, of all tiles together.
    pub lens: (usize, usize),
    /// The same, counted on through the loops that continue them, as folding kernels do.
    pub folded: (usize, usize),
    /// Where the rows are rolled: how many columns come before those that are read first.
    pub rolled: Option<usize>,
}

pub(super) fn is_any(_: &Pattern) -> bool {
    true
}

/// Rows of one element each, or of neighbours in both: they are copied as runs of bytes.
pub(super) fn is_runs(pattern: &Pattern) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (width, width)
}

/// Neighbours in the destination that stand in the opposite order in the source.
pub(super) fn is_reversed(pattern: &Pattern) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (-width, width)
}

/// What the rows and the columns of a transpose come to at least, in bytes (measured on pictures of 2
/// to 16 channels; docs/kernels.md).
const LEAST_SQUARE_BYTES: (usize, usize) = (24, 32);

/// Fewer rolled rows are not worth the places that are worked out for them (a guess).
const LEAST_ROLLED_ROWS: usize = 64;

/// How many rows there must be for each place of a group that a vector begins at: to work out what it
/// picks takes about as long as to move so many rows one by one (measured, on rows of 15 and 32
/// bytes).
const LEAST_ROWS_A_PHASE: usize = 24;

/// Short rows that follow each other in the destination are read from windows of at most two vectors
/// of `BYTES`, their neighbours in either order.
pub(super) fn is_regrouped<const BYTES: usize>(pattern: &Pattern) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    let group = cols * width;
    cols > 1
        && pattern.col_strides.0.unsigned_abs() == width
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.1 == group.cast_signed()
        && rows * group >= BYTES
        && rows >= LEAST_ROWS_A_PHASE * windows::phases(BYTES, group)
        && windows::fits(BYTES, group, pattern.row_strides.0)
}

/// Short rolled rows that follow each other on both sides, and enough of them to be worth the places
/// that their vectors are picked from.
pub(super) fn is_rolled_short<const BYTES: usize>(pattern: &Pattern) -> bool {
    let (rows, cols) = pattern.lens;
    let group = cols * pattern.width;
    let follow = pattern.row_strides == (group.cast_signed(), group.cast_signed());
    follow && windows::fits_rolled(BYTES, group) && rows >= LEAST_ROLLED_ROWS
}

/// Neighbours in the source, in either order, are a row apart in the destination.
pub(super) fn is_transposed(pattern: &Pattern) -> bool {
    let width = pattern.width;
    // Squares of fewer rows or columns are mostly empty.
    let least = if width == 1 { (16, 16) } else { LEAST_SQUARE_BYTES };
    let (rows, cols) = pattern.folded;
    let enough = rows.saturating_mul(width) >= least.0 && cols.saturating_mul(width) >= least.1;
    enough
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.0.unsigned_abs() == width
        && (matches!(width, 1 | 2 | 4 | 8 | 16) || width.is_multiple_of(LINE))
}

/// Whether elements of a pixel are worth to be picked from registers: a few, of less than a line.
fn is_pixel(width: usize, channels: usize) -> bool {
    matches!(width, 1 | 2 | 4 | 8)
        && (2..=MOST_CHANNELS).contains(&channels)
        && channels * width < LINE
}

/// The neighbours of a pixel, in either order, become planes.
pub fn is_deinterleaved(pattern: &Pattern) -> bool {
    let (width, (channels, pixels)) = (pattern.width, pattern.lens);
    is_pixel(width, channels)
        && pixels * width >= LINE
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.col_strides.0.unsigned_abs() == channels * width
        && pattern.col_strides.1 == width.cast_signed()
}

/// Planes become the neighbours of a pixel.
pub fn is_interleaved(pattern: &Pattern) -> bool {
    let (width, (pixels, channels)) = (pattern.width, pattern.lens);
    is_pixel(width, channels)
        && pixels * width >= LINE
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.row_strides.1 == (channels * width).cast_signed()
        && pattern.col_strides.1 == width.cast_signed()
}

/// Rows of less than a line that follow each other on both sides, in either order.
pub fn is_narrow(pattern: &Pattern) -> bool {
    let row_bytes = pattern.lens.1 * pattern.width;
    is_runs(pattern)
        && row_bytes < LINE
        && pattern.row_strides.0.unsigned_abs() == row_bytes
        && pattern.row_strides.1 == row_bytes.cast_signed()
}

/// Elements of an odd width that are transposed, and enough of them to fill squares.
pub(super) fn is_padded(pattern: &Pattern) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    (3..16).contains(&width)
        && !width.is_power_of_two()
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.0.unsigned_abs() == width
        && rows * width >= LINE
        && cols * width >= LINE
}
