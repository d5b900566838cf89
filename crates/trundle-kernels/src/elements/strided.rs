//! Moves elements of any strides, by plain loops.

use super::copy::{Elements, copy_each};
use crate::channels::{deinterleaved, interleaved};
use crate::pattern::{Pattern, Space};
use crate::simd::LINE;
use crate::tile::Tile;
use crate::{rows, transpose};

pub(crate) use crate::pattern::always as applies;

/// The cache lines of a tile with this many rows and columns fit in the first-level cache, in source and destination.
const SIDE: usize = 64;

/// Tiles as the kernel would cut them that is used where its instruction set exists.
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

/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile).
pub(crate) unsafe fn run(tile: &Tile) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe { copy_each(tile.width, tile) };
}

impl Elements for Tile {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        // Rows of a part without columns can begin outside the buffers.
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
