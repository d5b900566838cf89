//! Any strides: the plain loops.

use super::copy::{Elements, copy_each};
use crate::channels::{deinterleaved, interleaved};
use crate::pattern::{Pattern, Space};
use crate::simd::LINE;
use crate::tile::Tile;
use crate::{rows, transpose};

pub(crate) use crate::pattern::always as applies;

/// The side of a tile whose lines fit the first-level cache on both sides.
const SIDE: usize = 64;

/// Cuts tiles like the kernel that would apply if the machine had its instruction set.
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
/// As [`KernelFn::Tile`](crate::KernelFn::Tile).
pub(crate) unsafe fn run(tile: &Tile) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe { copy_each(tile.width, tile) };
}

impl Elements for Tile {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        // Rows without elements, as parts of tiles may have, can begin outside the buffers.
        let rows = if self.cols.len == 0 { 0 } else { self.rows.len };
        for row in 0..rows {
            // SAFETY: the row is one of the tile's, and has an element.
            let (src, dst) = unsafe { self.row(row) };
            for col in 0..self.cols.len.cast_signed() {
                copy(
                    src.wrapping_offset(col * self.cols.src_stride),
                    dst.wrapping_offset(col * self.cols.dst_stride),
                );
            }
        }
    }
}
