//! Tiles of few elements: the plain loops, and those from tile to tile around them.

use super::copy::{Elements, copy_each};
use crate::pattern::{Pattern, Space};
use crate::simd::LINE;
use crate::tile::{AffineLoop, Tile, Tiles};
use crate::transpose::{padded, transposed};

/// Tiles of up to so many elements are moved one by one in the time that other kernels take to begin
/// (measured; docs/kernels.md).
const MOST_ELEMENTS: usize = 256;

/// The same where a transpose would go through several of them, of 16 bytes, as one.
const MOST_LANES: usize = 64;

/// Rows of up to so many elements are reversed one by one in the time that it takes to load and store a part
/// of a vector.
const MOST_REVERSED: usize = 8;

/// Tiles of few elements, whose rows are no runs in either order, or short ones.
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

/// Whole tiles.
pub(crate) fn tile(_: &Space) -> (usize, usize) {
    (MOST_ELEMENTS, MOST_ELEMENTS)
}

/// Copies tile after tile, element by element.
///
/// # Safety
/// As [`Call::Tiles`](crate::Call::Tiles).
pub(crate) unsafe fn run(tiles: &Tiles) {
    // SAFETY: the contract is the same.
    unsafe { copy_each(tiles.tile.width, tiles) };
}

/// Tile after tile, along each row.
impl Elements for Tiles {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        let Tiles { tile: Tile { src, dst, rows, cols, .. }, along } = *self;
        steps(along, (src, dst), |tile| {
            steps(rows, tile, |row| steps(cols, row, |(src, dst)| copy(src, dst)));
        });
    }
}

/// Calls `visit` for where each step of a loop is, from `at` on.
#[inline(always)]
fn steps(each: AffineLoop, mut at: (*const u8, *mut u8), visit: impl Fn((*const u8, *mut u8))) {
    for _ in 0..each.len {
        visit(at);
        at = (at.0.wrapping_offset(each.src_stride), at.1.wrapping_offset(each.dst_stride));
    }
}
