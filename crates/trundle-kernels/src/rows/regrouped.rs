//! Short rows that follow each other in the destination: whole vectors of them at a time.

use super::windows::{Windows, fits, phases};
use super::{reversed, runs};
use crate::pattern::Pattern;
use crate::simd::{Token, Vector};
use crate::tile::Tile;

pub(crate) use super::tile;

/// How many rows there must be for each place of a group that a vector begins at: to work out what
/// it picks takes about as long as to move so many rows one by one (measured, on rows of 15 and 32
/// bytes).
const LEAST_ROWS_A_PHASE: usize = 24;

/// Short rows that follow each other in the destination are read from windows of at most two
/// vectors of `vector_bytes`, their neighbours in either order.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    let group = cols * width;
    cols > 1
        && pattern.col_strides.0.unsigned_abs() == width
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.1 == group.cast_signed()
        && rows * group >= vector_bytes
        && rows >= LEAST_ROWS_A_PHASE * phases(vector_bytes, group)
        && fits(vector_bytes, group, pattern.row_strides.0)
}

/// Copies rows that follow each other in the destination as one run of groups, a row each.
///
/// # Safety
/// As [`Call::Tile`](crate::Call::Tile); the columns are neighbours on both sides, rising in the
/// destination.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let Tile { rows, cols, width, .. } = *tile;
    let (group, bytes) = (cols.len * width, rows.len * cols.len * width);
    // Rows of a part of a ragged tile may have gaps between them.
    let follow = rows.dst_stride == group.cast_signed();
    if bytes < V::BYTES || !follow || !fits(V::BYTES, group, rows.src_stride) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe {
            if cols.src_stride > 0 { runs::run(token, tile) } else { reversed::run(token, tile) }
        };
    }
    let windows = Windows::new::<V>(group, rows.src_stride, width, cols.src_stride > 0);
    // SAFETY: the rows fill `bytes` without gaps, which are no less than a vector.
    unsafe { windows.copy(token, tile.src, tile.dst, bytes, tile.store) };
}
