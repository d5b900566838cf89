//! Any strides at all: the plain loops.

use super::{Opaque, Tile, by_width};

/// Copies element by element.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile).
pub(super) unsafe fn strided(tile: &Tile) {
    by_width!(
        tile.width,
        // SAFETY: the contract is the same; W is the tile's width.
        W => unsafe { each(tile, |src, dst| copy::<W>(src, dst)) },
        // SAFETY: the contract is the same; elements do not overlap.
        unsafe { each(tile, |src, dst| std::ptr::copy_nonoverlapping(src, dst, tile.width)) }
    );
}

/// Calls `copy` for every element, along each row.
///
/// # Safety
/// As [`strided`].
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

/// Copies one element of W bytes.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of W bytes.
#[inline(always)]
pub(super) unsafe fn copy<const W: usize>(src: *const u8, dst: *mut u8) {
    // SAFETY: the caller vouches for both.
    unsafe { dst.cast::<Opaque<W>>().write_unaligned(src.cast::<Opaque<W>>().read_unaligned()) };
}
