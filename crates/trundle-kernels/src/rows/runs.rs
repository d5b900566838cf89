//! Copies rows as runs of bytes.

use core::ops::Range;

use crate::elements::copy::up_to_line;
use crate::pattern::Pattern;
use crate::simd::{L1, L2, LINE, Token, Vector, stream_line};
use crate::tile::{LEAST_STREAMED_BYTES, Next, StoreKind, Tile};
use crate::tuning::{Level, MOST_PAGES, Tuning};

/// Longer runs are copied by `memcpy`.
const MOST_INLINE_BYTES: usize = 4096;

/// Ordinary stores of shorter runs are not aligned to lines, so that the number of vectors depends only on the length
/// (measured; docs/notes/kernels.md).
const LEAST_ALIGNED_BYTES: usize = 512;

pub(crate) use super::tile;

/// Applies to rows whose elements are contiguous in source and destination, in the same order.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (width, width)
}

/// Copies each row as a run of `cols.len · width` bytes.
///
/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile); the columns are neighbours on both sides.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let bytes = tile.cols.len * tile.width;
    if tile.store == StoreKind::Ordinary || bytes < LEAST_STREAMED_BYTES {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { store_rows(token, tile, bytes) };
    }
    let into_l2 = tile.tuning.run_level == Level::L2;
    for row in 0..tile.rows.len {
        // SAFETY: a row of the tile is `bytes` bytes in both buffers, which do not overlap.
        unsafe {
            let (src, dst) = tile.row(row);
            if into_l2 {
                stream_run::<V, L2>(token, src, dst, bytes, tile.next(row), &tile.tuning);
            } else {
                stream_run::<V, L1>(token, src, dst, bytes, tile.next(row), &tile.tuning);
            }
        }
    }
}

/// Copies rows by ordinary stores, with the branches on the length outside the loop.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn store_rows<V: Vector>(token: Token<V>, tile: &Tile, bytes: usize) {
    macro_rules! each_row {
        (|$src:ident, $dst:ident| $copy:expr) => {
            for row in 0..tile.rows.len {
                let ($src, $dst) = tile.row(row);
                $copy;
            }
        };
    }
    // SAFETY: a row of the tile is `bytes` bytes in both buffers, which do not overlap.
    unsafe {
        if V::BYTES == LINE && bytes <= LINE {
            each_row!(|src, dst| V::load_first(token, src, bytes).store_first(dst, bytes));
        } else if V::BYTES == LINE && bytes <= 2 * LINE {
            let last = bytes - LINE;
            each_row!(|src, dst| {
                let end = V::load(token, src.add(last));
                V::load(token, src).store(dst);
                end.store(dst.add(last));
            });
        } else {
            each_row!(|src, dst| copy_run(token, src, dst, bytes));
        }
    }
}

/// Copies a run by ordinary stores. Short runs are common with small axes.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `bytes` bytes, and they do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_run<V: Vector>(
    token: Token<V>,
    src: *const u8,
    dst: *mut u8,
    bytes: usize,
) {
    // SAFETY: each arm moves at most `bytes` bytes, which the caller guarantees to be valid.
    unsafe {
        match bytes {
            0..LINE => up_to_line(src, dst, bytes),
            LINE..=MOST_INLINE_BYTES => {
                // From `LEAST_ALIGNED_BYTES` on, only the first and the last store cross lines.
                V::load(token, src).store(dst);
                let aligned = if bytes < LEAST_ALIGNED_BYTES { 0 } else { dst.addr() % V::BYTES };
                for at in (V::BYTES - aligned..bytes - V::BYTES).step_by(V::BYTES) {
                    V::load(token, src.add(at)).store(dst.add(at));
                }
                let last = bytes - V::BYTES;
                V::load(token, src.add(last)).store(dst.add(last));
            }
            _ => core::ptr::copy_nonoverlapping(src, dst, bytes),
        }
    }
}

/// Copies a run by streaming stores of whole lines, with ordinary stores before the first and after the last one.
///
/// # Safety
/// As [`copy_run`]. The run has at least a line.
#[inline(always)]
unsafe fn stream_run<V: Vector, const LEVEL: u8>(
    token: Token<V>,
    src: *const u8,
    dst: *mut u8,
    bytes: usize,
    next: Next,
    tuning: &Tuning,
) {
    let head = dst.align_offset(LINE);
    let end = head + (bytes - head) / LINE * LINE;
    let whole = tuning.run_ahead.next_multiple_of(LINE);
    let ahead = whole.min(end - head);
    // SAFETY: `at` stays within the run. From `head` on, `dst + at` is aligned.
    unsafe {
        copy_run(token, src, dst, head);
        let begin = head + stream_pages(token, src, dst, head..end - ahead, tuning.run_pages);
        for at in (begin..end - ahead).step_by(LINE) {
            V::prefetch_into::<LEVEL>(src.wrapping_add(at + whole));
            stream_line(token, src.add(at), dst.add(at));
        }
        next.prefetch_partial(dst.add(bytes));
        for (index, at) in (end - ahead..end).step_by(LINE).enumerate() {
            V::prefetch_into::<LEVEL>(next.line(index));
            stream_line(token, src.add(at), dst.add(at));
        }
        next.prefetch_rest(ahead / LINE);
        copy_run(token, src.add(end), dst.add(end), bytes - end);
    }
}

const PAGE: usize = 4096;

/// Shorter runs are copied in order.
const LEAST_PAGED_BYTES: usize = 32 << 10;

/// Streams the bytes `lines` of a run in groups of `pages` pages, one line of each page in turn. The prefetcher of a
/// second-level cache follows several pages at once, and reads more lines at a time than a core by itself. Returns the
/// number of bytes, a multiple of the group size.
///
/// # Safety
/// As [`stream_run`], for these bytes of the run, whose destination begins at a line.
#[inline(always)]
unsafe fn stream_pages<V: Vector>(
    token: Token<V>,
    src: *const u8,
    dst: *mut u8,
    lines: Range<usize>,
    pages: usize,
) -> usize {
    if pages < 2 || lines.len() < LEAST_PAGED_BYTES {
        return 0;
    }
    let group = pages.min(MOST_PAGES) * PAGE;
    let whole = lines.len() / group * group;
    for first in (lines.start..lines.start + whole).step_by(group) {
        for line in (first..first + PAGE).step_by(LINE) {
            for at in (line..line + group).step_by(PAGE) {
                // SAFETY: the line belongs to the run. It is aligned, because the first line is.
                unsafe { stream_line(token, src.add(at), dst.add(at)) };
            }
        }
    }
    whole
}
