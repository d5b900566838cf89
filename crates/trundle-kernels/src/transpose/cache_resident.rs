//! Transposes of tiles that stay in the first-level cache: small ones, by ordinary stores.
//!
//! What is read is in the first-level cache or on its way: nothing is prefetched, and no addresses
//! are listed first, which would cost more than the micro-tiles.

use std::mem::MaybeUninit;

use super::micro_tile::{
    LANE, MOST_VECTORS, transpose_micro_tile, transpose_within_lanes, written,
};
use crate::jumps::Jumps;
use crate::parts::line::Line;
use crate::simd::{LINE, Token, Vector};
use crate::tile::{Store, Tile};

/// The most bytes of such a tile: both sides fill a first-level cache.
const MOST_RESIDENT_BYTES: usize = 16 << 10;

/// Whether a tile is small, written by ordinary stores, and does not jump.
pub(crate) fn is_cache_resident(tile: &Tile) -> bool {
    tile.store == Store::Ordinary
        && tile.rows.len * tile.cols.len * tile.width <= MOST_RESIDENT_BYTES
        && (tile.row_jumps, tile.col_jumps) == (Jumps::NONE, Jumps::NONE)
}

/// The columns that make a line of each row; missing columns repeat the last pointer.
type Cols = [*const u8; LINE];

/// Copies a near tile.
///
/// # Safety
/// As [`transposed`](super::transposed::run), for elements of W bytes and rising rows, none
/// of which jump.
#[inline(always)]
pub(crate) unsafe fn cache_resident<V: Vector, const W: usize>(token: Token<V>, tile: &Tile) {
    let (each, side) = (LINE / W, V::BYTES / W);
    let mut cols: Cols = [tile.src; LINE];
    for first in (0..tile.cols.len).step_by(each) {
        let count = (tile.cols.len - first).min(each);
        for (index, col) in cols[..each].iter_mut().enumerate() {
            let index = (first + index.min(count - 1)).cast_signed();
            *col = tile.src.wrapping_offset(index * tile.cols.src_stride);
        }
        let mut row = 0;
        while row < tile.rows.len {
            let left = tile.rows.len - row;
            let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
            // SAFETY: the rows are rows of the tile, and the columns too.
            unsafe {
                let made = if left >= side || left < LANE / W {
                    micro_tile_lines::<V, W>(token, &cols, row, left.min(side), &mut lines);
                    side
                } else {
                    lane_lines::<V, W>(token, &cols, row, &mut lines);
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
/// The rows are valid in all columns.
#[inline(always)]
unsafe fn micro_tile_lines<V: Vector, const W: usize>(
    token: Token<V>,
    cols: &Cols,
    row: usize,
    count: usize,
    lines: &mut [MaybeUninit<V>; MOST_VECTORS],
) {
    let side = V::BYTES / W;
    for micro_tile in 0..LINE / V::BYTES {
        let vectors = &mut lines[micro_tile * side..(micro_tile + 1) * side];
        for (vector, col) in vectors.iter_mut().zip(&cols[micro_tile * side..]) {
            let src = col.wrapping_add(row * W);
            // SAFETY: by the caller.
            vector.write(unsafe {
                if count == side {
                    V::load(token, src)
                } else {
                    V::load_first(token, src, count * W)
                }
            });
        }
        // SAFETY: all vectors are written.
        transpose_micro_tile::<V, W>(unsafe { written(vectors) });
    }
}

/// The lines of as many rows as a lane has elements: each lane of a vector reads a column of its
/// own.
///
/// # Safety
/// As [`micro_tile_lines`].
#[inline(always)]
unsafe fn lane_lines<V: Vector, const W: usize>(
    token: Token<V>,
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
            vector.write(unsafe { V::load_lanes(token, &srcs) });
        }
        // SAFETY: all vectors are written.
        transpose_within_lanes::<V, W>(unsafe { written(vectors) });
    }
}
