//! Transposes of tiles that are near: small ones, through the caches.
//!
//! What is read is in the first-level cache or on its way: nothing is asked for ahead, and no places
//! are listed first, which would cost more than the squares.

use std::mem::MaybeUninit;

use super::line::Line;
use super::square::{LANE, MOST_VECTORS, transpose_lanes, transpose_square};
use super::{Fold, Store, Tile};
use crate::simd::{LINE, Vector};

/// The most bytes of such a tile: both sides fill a first-level cache.
const MOST_NEAR_BYTES: usize = 16 << 10;

/// Whether a tile is small, goes through the caches, and does not jump.
pub(super) fn is_near(tile: &Tile) -> bool {
    tile.store == Store::Cached
        && tile.rows.len * tile.cols.len * tile.width <= MOST_NEAR_BYTES
        && (tile.row_fold, tile.col_fold) == (Fold::NONE, Fold::NONE)
}

/// The columns that make a line of each row; the last stands for those that there are not.
type Cols = [*const u8; LINE];

/// Copies a near tile.
///
/// # Safety
/// As [`transposed`](super::transposed::transposed), for elements of W bytes and rising rows, none
/// of which jump.
#[inline(always)]
pub(super) unsafe fn near<V: Vector, const W: usize>(tile: &Tile) {
    let (each, side) = (LINE / W, V::BYTES / W);
    let mut cols: Cols = [tile.src; LINE];
    for first in (0..tile.cols.len).step_by(each) {
        let count = (tile.cols.len - first).min(each);
        for (number, col) in cols[..each].iter_mut().enumerate() {
            let number = (first + number.min(count - 1)).cast_signed();
            *col = tile.src.wrapping_offset(number * tile.cols.src_stride);
        }
        let mut row = 0;
        while row < tile.rows.len {
            let left = tile.rows.len - row;
            let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
            // SAFETY: the rows are rows of the tile, and the columns too.
            unsafe {
                let made = if left >= side || left < LANE / W {
                    square_lines::<V, W>(&cols, row, left.min(side), &mut lines);
                    side
                } else {
                    lane_lines::<V, W>(&cols, row, &mut lines);
                    LANE / W
                };
                for i in 0..made.min(left) {
                    let dst = (row + i).cast_signed() * tile.rows.dst_stride;
                    let dst = tile.dst.wrapping_offset(dst).wrapping_add(first * W);
                    Line::of_row(&lines, i, made).store_first(dst, count * W);
                }
                row += made;
            }
        }
    }
}

/// The lines of `count` rows, at most as many as a vector has elements.
///
/// # Safety
/// The machine has the set of V, and the rows are valid in all columns.
#[inline(always)]
unsafe fn square_lines<V: Vector, const W: usize>(
    cols: &Cols,
    row: usize,
    count: usize,
    lines: &mut [MaybeUninit<V>; MOST_VECTORS],
) {
    let side = V::BYTES / W;
    for square in 0..LINE / V::BYTES {
        let vectors = &mut lines[square * side..(square + 1) * side];
        for (vector, col) in vectors.iter_mut().zip(&cols[square * side..]) {
            let src = col.wrapping_add(row * W);
            // SAFETY: by the caller.
            vector.write(unsafe {
                if count == side { V::load(src) } else { V::load_first(src, count * W) }
            });
        }
        // SAFETY: all vectors are known.
        unsafe { transpose_square::<V, W>(vectors) };
    }
}

/// The lines of as many rows as a lane has elements: each lane of a vector reads a column of its own.
///
/// # Safety
/// As [`square_lines`].
#[inline(always)]
unsafe fn lane_lines<V: Vector, const W: usize>(
    cols: &Cols,
    row: usize,
    lines: &mut [MaybeUninit<V>; MOST_VECTORS],
) {
    let (each, lanes) = (LANE / W, V::BYTES / LANE);
    for part in 0..LINE / V::BYTES {
        let vectors = &mut lines[part * each..(part + 1) * each];
        for (i, vector) in vectors.iter_mut().enumerate() {
            let mut srcs = [cols[part * lanes * each]; LINE / LANE];
            for (lane, src) in srcs[..lanes].iter_mut().enumerate() {
                *src = cols[(part * lanes + lane) * each + i].wrapping_add(row * W);
            }
            // SAFETY: by the caller.
            vector.write(unsafe { V::load_lanes(&srcs) });
        }
        // SAFETY: all vectors are known.
        unsafe { transpose_lanes::<V, W>(vectors) };
    }
}
