//! Short rows that are rolled: whole vectors of them at a time.

use super::rolled;
use super::windows::{Windows, fits_rolled};
use crate::pattern::Pattern;
use crate::simd::{Token, Vector};
use crate::tile::Tile;

pub(crate) use super::tile;

/// Fewer rolled rows are not worth the shuffle indices that are worked out for them (a guess).
const LEAST_ROLLED_ROWS: usize = 64;

/// Short rolled rows that follow each other on both sides, and enough of them to be worth the
/// indices that their vectors are shuffled by.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let (rows, cols) = pattern.lens;
    let group = cols * pattern.width;
    let follow = pattern.row_strides == (group.cast_signed(), group.cast_signed());
    follow && fits_rolled(vector_bytes, group) && rows >= LEAST_ROLLED_ROWS
}

/// Copies short rolled rows, which follow each other on both sides, in whole vectors.
///
/// # Safety
/// As [`rolled`].
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let Tile { rows, cols, width, .. } = *tile;
    let group = cols.len * width;
    let follow = rows.dst_stride == group.cast_signed();
    if rows.len * group < V::BYTES || !follow {
        // SAFETY: the contract is the same.
        return unsafe { rolled::run(token, tile) };
    }
    let windows = Windows::rolled::<V>(group, tile.col_jumps.first * width);
    // SAFETY: the rows fill so many bytes without gaps, which are no less than a vector.
    unsafe { windows.copy(token, tile.src, tile.dst, rows.len * group, tile.store) };
}
