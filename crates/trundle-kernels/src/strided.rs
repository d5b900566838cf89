//! Any strides at all: the plain loops.

use super::{Opaque, Tile, by_width};

/// Copies element by element.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile).
pub(super) unsafe fn strided(tile: &Tile) {
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

/// Copies one element of N to 2 · N bytes: its first N bytes and its last.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `width` bytes, and they do not overlap.
#[inline(always)]
pub(super) unsafe fn ends<const N: usize>(src: *const u8, dst: *mut u8, width: usize) {
    // SAFETY: both moves stay within the element.
    unsafe {
        let first = src.cast::<Opaque<N>>().read_unaligned();
        let last = src.add(width - N).cast::<Opaque<N>>().read_unaligned();
        dst.cast::<Opaque<N>>().write_unaligned(first);
        dst.add(width - N).cast::<Opaque<N>>().write_unaligned(last);
    }
}
