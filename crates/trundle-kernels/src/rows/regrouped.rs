//! Moves short rows that are contiguous in the destination, in whole vectors.

use super::windows::{Windows, fits, phases};
use super::{reversed, runs};
use crate::pattern::Pattern;
use crate::simd::{Token, Vector};
use crate::tile::Tile;

pub(crate) use super::tile;

/// The minimum number of rows for each different shuffle. Computing a shuffle takes as long as moving so many rows one
/// at a time (measured with rows of 15 and 32 bytes).
const LEAST_ROWS_A_PHASE: usize = 24;

/// Applies to short rows that are contiguous in the destination, with adjacent elements in the source in either order.
/// The source bytes of a destination vector must lie within two vectors of `vector_bytes` bytes.
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

/// Moves rows as one run of groups of bytes, one for each row.
///
/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile); the columns are neighbours on both sides, ascending in the
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
    // SAFETY: the rows are `bytes` bytes without gaps, which is at least a vector.
    unsafe { windows.copy(token, tile.src, tile.dst, bytes, tile.store) };
}
