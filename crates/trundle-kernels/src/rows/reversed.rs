//! Reverses rows.

use super::windows::{Windows, fits};
use crate::elements::copy::{self, by_width};
use crate::elements::strided;
use crate::pattern::Pattern;
use crate::simd::{L1, L2, LINE, Token, Vector};
use crate::tile::{LEAST_STREAMED_BYTES, Next, StoreKind, Tile};
use crate::tuning::{Level, Tuning};

pub(crate) use super::tile;

/// Applies if the elements of a row are contiguous in source and destination, in opposite orders.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (-width, width)
}

/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile); the columns are neighbours, descending in the source and ascending in
/// the destination.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid. W is the tile's width.
    unsafe {
        // Registers hold whole elements of 1, 2, 4, 8 and 16 bytes, and can reverse them. Other elements are shuffled
        // in windows if that is faster.
        let has_windows =
            V::HAS_SHUFFLE && (tile.store == StoreKind::Streaming || are_worth_windows::<V>(tile));
        by_width!([1 2 4 8 16] tile.width, W => vectors::<V, W>(token, tile), {
            if has_windows {
                backwards(token, tile);
            } else {
                by_width!([3 6 12] tile.width, W => elements_of_rows::<W>(tile), strided::run(tile));
            }
        });
    }
}

/// The minimum number of elements in a row that is shuffled in windows if the result stays in the caches (measured;
/// docs/notes/kernels.md).
const LEAST_IN_WINDOWS: usize = 64;

/// Whether shuffles of windows are faster than moving one element at a time, if the result stays in the caches.
fn are_worth_windows<V: Vector>(tile: &Tile) -> bool {
    match tile.width {
        3 | 6 | 12 => {
            let is_fast = tile.width < 4 || !V::WITHIN_LANES;
            is_fast && tile.cols.len >= LEAST_IN_WINDOWS
        }
        width => width < LINE / 2,
    }
}

/// Moves rows by shuffles of [`Windows`], whose groups are the elements.
///
/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile); the columns are neighbours, descending in the source and ascending in
/// the destination.
#[inline(always)]
unsafe fn backwards<V: Vector>(token: Token<V>, tile: &Tile) {
    let (width, bytes) = (tile.width, tile.cols.len * tile.width);
    if bytes < V::BYTES || !fits(V::BYTES, width, tile.cols.src_stride) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { strided::run(tile) };
    }
    let windows = Windows::new::<V>(width, tile.cols.src_stride, width, true);
    for row in 0..tile.rows.len {
        // SAFETY: the elements of a row are `bytes` bytes, which is at least a vector.
        unsafe {
            let (src, dst) = tile.row(row);
            windows.copy(token, src, dst, bytes, tile.store);
        }
    }
}

/// A row whose elements descend from `end` in the source and ascend from `dst` in the destination.
#[derive(Clone, Copy)]
struct DescendingRow<V> {
    token: Token<V>,
    /// The end of the first element, which is the last one in memory.
    end: *const u8,
    dst: *mut u8,
    bytes: usize,
}

impl<V: Vector> DescendingRow<V> {
    /// Returns the vector for byte `at` of the row.
    ///
    /// # Safety
    /// The row has the bytes of a vector from `at` on.
    #[inline(always)]
    unsafe fn vector<const W: usize>(&self, at: usize) -> V {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { V::load(self.token, self.end.sub(at + V::BYTES)).reverse::<W>() }
    }

    /// Writes `bytes` bytes from byte `at` on, and no others.
    ///
    /// # Safety
    /// The bytes are whole elements of the row.
    #[inline(always)]
    unsafe fn store_part<const W: usize>(&self, at: usize, bytes: usize) {
        let whole = bytes / V::BYTES * V::BYTES;
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            for at in (at..at + whole).step_by(V::BYTES) {
                self.vector::<W>(at).store(self.dst.add(at));
            }
            let (at, rest) = (at + whole, bytes - whole);
            if rest > 0 {
                let reversed =
                    V::load_first(self.token, self.end.sub(at + rest), rest).reverse::<W>();
                let first = reversed.join::<W>(reversed, V::BYTES - rest);
                first.store_first(self.dst.add(at), rest);
            }
        }
    }

    /// Writes the line at byte `at` by streaming stores.
    ///
    /// # Safety
    /// The row has the line, and the line is aligned in the destination.
    #[inline(always)]
    unsafe fn stream_line<const W: usize>(&self, at: usize) {
        for at in (at..at + LINE).step_by(V::BYTES) {
            // SAFETY: the caller guarantees that the line is valid.
            unsafe { self.vector::<W>(at).stream(self.dst.add(at)) };
        }
    }
}

/// # Safety
/// As [`run`], for elements of W bytes. The size of a vector is a multiple of W.
#[inline(always)]
unsafe fn vectors<V: Vector, const W: usize>(token: Token<V>, tile: &Tile) {
    let bytes = tile.cols.len * W;
    let streamed = tile.store == StoreKind::Streaming && bytes >= LEAST_STREAMED_BYTES;
    let into_l2 = tile.tuning.reversed_level == Level::L2;
    for index in 0..tile.rows.len {
        // SAFETY: a row has `bytes` bytes, which end with the element at `src` and begin at `dst`.
        unsafe {
            let (src, dst) = tile.row(index);
            let row = DescendingRow { token, end: src.add(W), dst, bytes };
            let head = dst.align_offset(LINE);
            if !(streamed && head.is_multiple_of(W)) {
                store_row::<V, W>(&row);
            } else if into_l2 {
                stream_row::<V, W, L2>(&row, head, tile.next(index), &tile.tuning);
            } else {
                stream_row::<V, W, L1>(&row, head, tile.next(index), &tile.tuning);
            }
        }
    }
}

/// Moves a row by streaming stores of whole lines, with ordinary stores before the first and after the last one.
///
/// # Safety
/// As [`DescendingRow::store_part`] for the whole row, which has at least two lines. At `head`, an element begins, and
/// the destination is aligned to a line.
#[inline(always)]
unsafe fn stream_row<V: Vector, const W: usize, const LEVEL: u8>(
    row: &DescendingRow<V>,
    head: usize,
    next: Next,
    tuning: &Tuning,
) {
    let end = head + (row.bytes - head) / LINE * LINE;
    let whole = tuning.reversed_ahead.next_multiple_of(LINE);
    let ahead = whole.min(end - head);
    // SAFETY: all lines belong to the row.
    unsafe {
        row.store_part::<W>(0, head);
        for at in (head..end - ahead).step_by(LINE) {
            V::prefetch_into::<LEVEL>(row.end.wrapping_sub(at + whole));
            row.stream_line::<W>(at);
        }
        next.prefetch_partial(row.dst.add(row.bytes));
        for (index, at) in (end - ahead..end).step_by(LINE).enumerate() {
            V::prefetch_into::<LEVEL>(next.line(index));
            row.stream_line::<W>(at);
        }
        next.prefetch_rest(ahead / LINE);
        row.store_part::<W>(end, row.bytes - end);
    }
}

/// Moves a row by ordinary stores of vectors. The last two may overlap.
///
/// # Safety
/// As [`vectors`], for one row.
#[inline(always)]
unsafe fn store_row<V: Vector, const W: usize>(row: &DescendingRow<V>) {
    // SAFETY: all reads and writes stay within the row.
    unsafe {
        if row.bytes < V::BYTES {
            if V::BYTES == LINE {
                row.store_part::<W>(0, row.bytes);
            } else {
                elements::<W>(row.end.sub(W), row.dst, row.bytes / W);
            }
            return;
        }
        let last = row.bytes - V::BYTES;
        for at in (0..last).step_by(V::BYTES) {
            row.vector::<W>(at).store(row.dst.add(at));
        }
        row.vector::<W>(last).store(row.dst.add(last));
    }
}

/// # Safety
/// As [`run`], for elements of W bytes.
#[inline(always)]
unsafe fn elements_of_rows<const W: usize>(tile: &Tile) {
    for row in 0..tile.rows.len {
        // SAFETY: the row belongs to the tile.
        unsafe {
            let (src, dst) = tile.row(row);
            elements::<W>(src, dst, tile.cols.len);
        }
    }
}

/// Copies `count` elements, descending from `src` and ascending from `dst`.
///
/// # Safety
/// The elements are valid, and they do not overlap.
#[inline(always)]
unsafe fn elements<const W: usize>(src: *const u8, dst: *mut u8, count: usize) {
    for i in 0..count {
        // SAFETY: i is below `count`.
        unsafe { copy::copy::<W>(src.sub(i * W), dst.add(i * W)) };
    }
}
