//! Exchanges pairs of rows of one tensor, in order or reversed.
//!
//! For one vector after another, both rows are read before either is written, so no buffer is needed.

use crate::elements::copy::by_width;
use crate::simd::{LINE, Token, Vector};
use crate::tile::AffineLoop;

pub(crate) use super::tile;
pub(crate) use crate::pattern::never as applies;

/// Pairs of rows to exchange.
#[derive(Clone, Copy)]
pub struct ExchangeTile {
    /// The address of the first row of the first pair.
    pub first: *mut u8,
    /// The address of the second row of the first pair.
    pub second: *mut u8,
    /// The loop over pairs. `dst_stride` is the stride of the first rows, `src_stride` the stride of the second
    /// rows.
    pub rows: AffineLoop,
    /// The number of elements of a row.
    pub cols: usize,
    /// The size of an element in bytes.
    pub width: usize,
    /// Whether the elements of both rows are also reversed.
    pub is_reversed: bool,
}

/// Prefetch distance for short rows in bytes, and its maximum in rows (measured; docs/notes/kernels.md).
const AHEAD_BYTES: usize = 4 << 10;
const MOST_ROWS_AHEAD: usize = 32;

/// # Safety
/// As [`KernelFn::ExchangeTile`](crate::KernelFn::ExchangeTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &ExchangeTile) {
    let ExchangeTile { first, second, rows, cols, width, is_reversed } = *tile;
    let bytes = cols * width;
    // The hardware prefetcher does not predict the next short rows.
    let ahead = (AHEAD_BYTES / bytes.max(1)).clamp(1, MOST_ROWS_AHEAD).cast_signed();
    let is_fetched = bytes <= AHEAD_BYTES && rows.len > 1;
    for row in 0..rows.len.cast_signed() {
        let first = first.wrapping_offset(row * rows.dst_stride);
        let second = second.wrapping_offset(row * rows.src_stride);
        if is_fetched {
            for at in (0..bytes).step_by(LINE) {
                V::prefetch(first.wrapping_offset(ahead * rows.dst_stride).wrapping_add(at));
                V::prefetch(second.wrapping_offset(ahead * rows.src_stride).wrapping_add(at));
            }
        }
        // SAFETY: both rows have `cols` elements, and do not overlap.
        unsafe {
            if !is_reversed {
                exchange(token, first, second, cols * width);
                continue;
            }
            by_width!(
                [1 2 4 8 16] width,
                W => backwards::<V, W>(token, first, second, cols),
                by_width!(
                    [3 6 12] width,
                    W => elements::<W>(first, second, cols, W),
                    elements::<0>(first, second, cols, width)
                )
            );
        }
    }
}

/// Exchanges two runs of bytes.
///
/// # Safety
/// Both runs are valid for reads and writes of `bytes` bytes, and they do not overlap.
#[inline(always)]
unsafe fn exchange<V: Vector>(token: Token<V>, first: *mut u8, second: *mut u8, bytes: usize) {
    let whole = bytes / V::BYTES * V::BYTES;
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        for at in (0..whole).step_by(V::BYTES) {
            let one = V::load(token, first.add(at));
            let other = V::load(token, second.add(at));
            other.store(first.add(at));
            one.store(second.add(at));
        }
        let rest = bytes - whole;
        if rest == 0 {
            return;
        }
        let (first, second) = (first.add(whole), second.add(whole));
        if V::BYTES == LINE {
            let one = V::load_first(token, first, rest);
            let other = V::load_first(token, second, rest);
            other.store_first(first, rest);
            one.store_first(second, rest);
        } else {
            core::ptr::swap_nonoverlapping(first, second, rest);
        }
    }
}

/// Exchanges two rows and reverses both.
///
/// # Safety
/// As [`exchange`], for `count` elements.
#[inline(always)]
unsafe fn backwards<V: Vector, const W: usize>(
    token: Token<V>,
    first: *mut u8,
    second: *mut u8,
    count: usize,
) {
    let bytes = count * W;
    let whole = bytes / V::BYTES * V::BYTES;
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        let end = second.add(bytes);
        for at in (0..whole).step_by(V::BYTES) {
            let (from, to) = (first.add(at), end.sub(at + V::BYTES));
            let (one, other) = (V::load(token, from), V::load(token, to));
            other.reverse::<W>().store(from);
            one.reverse::<W>().store(to);
        }
        elements::<W>(first.add(whole), second, (bytes - whole) / W, W);
    }
}

/// As [`backwards`], one element at a time, of W bytes, or of `width` bytes if W is 0.
///
/// # Safety
/// As [`backwards`].
#[inline(always)]
unsafe fn elements<const W: usize>(first: *mut u8, second: *mut u8, count: usize, width: usize) {
    let width = if W == 0 { width } else { W };
    for at in 0..count {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let (one, other) = (first.add(at * width), second.add((count - 1 - at) * width));
            core::ptr::swap_nonoverlapping(one, other, width);
        }
    }
}
