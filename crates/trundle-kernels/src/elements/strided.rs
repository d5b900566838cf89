//! Any strides at all: the plain loops.

use super::copy::{by_width, copy, ends};
use crate::channels::{deinterleaved, interleaved};
use crate::pattern::{Pattern, Space};
use crate::simd::LINE;
use crate::tile::Tile;
use crate::{rows, transpose};

/// Any strides.
pub(crate) fn applies(_: &Pattern, _: usize) -> bool {
    true
}

/// The sides of a tile whose lines stay in the first-level cache on both sides.
const SIDE: usize = 64;

/// Tiles for any kernel that would be right if the instruction set had it.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let pattern = &space.pattern;
    let Pattern { width, row_strides, col_strides, .. } = *pattern;
    if col_strides.0.unsigned_abs() == width {
        rows::tile(space)
    } else if deinterleaved::applies(pattern, LINE) {
        deinterleaved::tile(space)
    } else if interleaved::applies(pattern, LINE) {
        interleaved::tile(space)
    } else if row_strides.0.unsigned_abs() == width {
        transpose::tile_of(width)
    } else {
        (SIDE, SIDE)
    }
}

/// Copies element by element.
///
/// # Safety
/// As [`Call::Tile`](crate::Call::Tile).
pub(crate) unsafe fn run(tile: &Tile) {
    let width = tile.width;
    by_width!(
        width,
        // SAFETY: the contract is the same; W is the tile's width.
        W => unsafe { each(tile, |src, dst| copy::<W>(src, dst)) },
        // SAFETY: the contract is the same; elements do not overlap.
        unsafe {
            match width {
                5..=7 => each(tile, |src, dst| ends::<4>(src, dst, width)),
                9..=15 => each(tile, |src, dst| ends::<8>(src, dst, width)),
                17..=31 => each(tile, |src, dst| ends::<16>(src, dst, width)),
                33..=63 => each(tile, |src, dst| ends::<32>(src, dst, width)),
                _ => each(tile, |src, dst| std::ptr::copy_nonoverlapping(src, dst, width)),
            }
        }
    );
}

/// Calls `copy` for every element, along each row.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn each(tile: &Tile, copy: impl Fn(*const u8, *mut u8)) {
    // Rows of no elements, as parts of tiles may have, can begin outside the buffers.
    let rows = if tile.cols.len == 0 { 0 } else { tile.rows.len };
    for row in 0..rows {
        // SAFETY: the row is one of the tile's, and has an element.
        let (src, dst) = unsafe { tile.row(row) };
        for col in 0..tile.cols.len.cast_signed() {
            copy(
                src.wrapping_offset(col * tile.cols.src_stride),
                dst.wrapping_offset(col * tile.cols.dst_stride),
            );
        }
    }
}
