//! Moves tiles of few elements by plain loops.

use super::copy::{Elements, copy_each};
use crate::pattern::{Pattern, Space};
use crate::simd::LINE;
use crate::tile::{AffineLoop, Tile, Tiles};
use crate::transpose::{padded, transposed};

/// Maximum number of elements in a tile: other kernels take as long to start as this one takes to finish (measured;
/// docs/kernels.md).
const MOST_ELEMENTS: usize = 256;

/// The maximum for 16-byte elements, if a transpose could treat several tiles as one.
const MOST_LANES: usize = 64;

/// Maximum length of a reversed row. Loading and storing a part of a vector would take as long.
const MOST_REVERSED: usize = 8;

/// Applies to tiles of few elements whose rows are short or not contiguous.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    let is_run = pattern.col_strides.0.unsigned_abs() == width && cols * width > LINE;
    let is_short_and_reversed =
        pattern.col_strides == (-width.cast_signed(), width.cast_signed()) && cols <= MOST_REVERSED;
    let elements = rows.saturating_mul(cols);
    let is_part = (pattern.wrapped.0.saturating_mul(pattern.wrapped.1) > MOST_ELEMENTS)
        && (transposed::applies(pattern, vector_bytes) || padded::applies(pattern, vector_bytes))
        && (width < 16 || elements > MOST_LANES);
    matches!(width, 1 | 2 | 3 | 4 | 6 | 8 | 12 | 16)
        && (elements <= MOST_ELEMENTS || is_short_and_reversed)
        && !is_run
        && !is_part
}

/// Tiles are never cut.
pub(crate) fn tile(_: &Space) -> (usize, usize) {
    (MOST_ELEMENTS, MOST_ELEMENTS)
}

/// # Safety
/// As [`KernelFn::Tiles`](crate::KernelFn::Tiles).
pub(crate) unsafe fn run(tiles: &Tiles) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe { copy_each(tiles.tile.width, tiles) };
}

impl Elements for Tiles {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        let Tiles { tile: Tile { src, dst, rows, cols, .. }, along } = *self;
        steps(along, (src, dst), |tile| {
            steps(rows, tile, |row| steps(cols, row, |(src, dst)| copy(src, dst)));
        });
    }
}

/// Calls `visit` with the addresses of each iteration, from `at` on.
#[inline(always)]
fn steps(each: AffineLoop, mut at: (*const u8, *mut u8), visit: impl Fn((*const u8, *mut u8))) {
    for _ in 0..each.len {
        visit(at);
        at = (at.0.wrapping_offset(each.src_stride), at.1.wrapping_offset(each.dst_stride));
    }
}
