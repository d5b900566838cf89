//! Fills rows with one element of the source.

use core::ops::Range;

use super::filled::{Filling, MOST_FILLED_BYTES};
use crate::pattern::Pattern;
use crate::simd::{LINE, Token, Vector, stream_line};
use crate::tile::{LEAST_STREAMED_BYTES, StoreKind, Tile};

/// Writing fewer elements one at a time takes no longer than making the filling (a guess).
const LEAST_ELEMENTS: usize = 256;

pub(crate) use super::tile;

/// Applies if all rows repeat the same element.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let Pattern { width, row_strides, col_strides, lens: (rows, cols), .. } = *pattern;
    col_strides == (0, width.cast_signed())
        && (row_strides.0 == 0 || rows == 1)
        && (1..=MOST_FILLED_BYTES).contains(&width)
        && cols * width > 2 * LINE
        && rows.saturating_mul(cols) > LEAST_ELEMENTS
}

/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile); the columns are neighbours in the destination, and all rows and
/// columns read the same element of the source.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let bytes = tile.cols.len * tile.width;
    if tile.rows.len == 0 || bytes < LINE {
        // A small part of a tile.
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { crate::elements::strided::run(tile) };
    }
    // SAFETY: the tile has an element.
    let filling = unsafe { Filling::of(tile.src, tile.width) };
    let is_streamed = tile.store == StoreKind::Streaming && bytes >= LEAST_STREAMED_BYTES;
    for row in 0..tile.rows.len {
        // SAFETY: a row is `bytes` bytes of the destination. They are whole elements and at least a line.
        unsafe {
            let (_, dst) = tile.row(row);
            match is_streamed {
                true => stream_row(token, &filling, dst, bytes),
                false => store_row(token, &filling, dst, 0..bytes),
            }
        }
    }
}

/// Fills a part of a row by ordinary stores. The last store may overlap the previous one.
///
/// # Safety
/// The part of the row at `dst` is valid for writes, and is at least a line.
#[inline(always)]
unsafe fn store_row<V: Vector>(
    token: Token<V>,
    filling: &Filling,
    dst: *mut u8,
    part: Range<usize>,
) {
    let last = part.end - V::BYTES;
    let (mut phase, step) = (part.start % filling.width(), V::BYTES % filling.width());
    // SAFETY: the caller guarantees that the destination is valid. The filling contains a vector from any position of
    // the element.
    unsafe {
        for at in (part.start..last).step_by(V::BYTES) {
            V::load(token, filling.from(phase)).store(dst.add(at));
            phase = filling.after(phase, step);
        }
        V::load(token, filling.from(last % filling.width())).store(dst.add(last));
    }
}

/// Fills a row, by streaming stores for whole lines.
///
/// # Safety
/// `dst` is valid for writes of `bytes` bytes, at least [`LEAST_STREAMED_BYTES`].
#[inline(always)]
unsafe fn stream_row<V: Vector>(token: Token<V>, filling: &Filling, dst: *mut u8, bytes: usize) {
    let head = dst.align_offset(LINE);
    let end = head + (bytes - head) / LINE * LINE;
    let (mut phase, step) = (head % filling.width(), LINE % filling.width());
    // SAFETY: the caller guarantees that the destination is valid. From `head` on, it is aligned. The filling contains
    // a line from any position of the element. At both ends, unaligned lines within the row are written.
    unsafe {
        if head > 0 {
            store_row(token, filling, dst, 0..LINE);
        }
        for at in (head..end).step_by(LINE) {
            stream_line(token, filling.from(phase), dst.add(at));
            phase = filling.after(phase, step);
        }
        if end < bytes {
            store_row(token, filling, dst, bytes - LINE..bytes);
        }
    }
}
