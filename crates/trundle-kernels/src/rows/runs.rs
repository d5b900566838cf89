//! Rows that are runs of bytes: the copy.

use crate::elements::copy::ends;
use crate::pattern::Pattern;
use crate::simd::{LINE, Token, Vector, stream_line};
use crate::tile::{AHEAD_BYTES, LEAST_STREAMED_BYTES, Next, Store, Tile};

/// Longer runs are left to the system's copy.
const MOST_INLINE_BYTES: usize = 4096;

pub(crate) use super::tile;

/// Rows of one element each, or of neighbours in both: they are copied as runs of bytes.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (width, width)
}

/// Copies each row as a run of `cols.len · width` bytes.
///
/// # Safety
/// As [`Call::Tile`](crate::Call::Tile); the columns are neighbours on both sides.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let bytes = tile.cols.len * tile.width;
    let streamed = tile.store == Store::Streaming && bytes >= LEAST_STREAMED_BYTES;
    for row in 0..tile.rows.len {
        // SAFETY: a row of the tile is `bytes` bytes in both buffers, which do not overlap.
        unsafe {
            let (src, dst) = tile.row(row);
            if streamed {
                stream_run(token, src, dst, bytes, tile.next(row));
            } else if bytes <= V::BYTES && V::BYTES == LINE {
                V::load_first(token, src, bytes).store_first(dst, bytes);
            } else {
                copy_run(token, src, dst, bytes);
            }
        }
    }
}

/// Copies a run by ordinary stores. Short ones, common when axes are small, take two moves that
/// may overlap each other instead of a call.
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
    // SAFETY: each arm moves at most `bytes`, which the caller vouches for.
    unsafe {
        match bytes {
            0..4 => std::ptr::copy_nonoverlapping(src, dst, bytes),
            4..8 => ends::<4>(src, dst, bytes),
            8..16 => ends::<8>(src, dst, bytes),
            16..32 => ends::<16>(src, dst, bytes),
            32..64 => ends::<32>(src, dst, bytes),
            64..128 => ends::<64>(src, dst, bytes),
            128..=MOST_INLINE_BYTES => {
                for at in (0..bytes - V::BYTES).step_by(V::BYTES) {
                    V::load(token, src.add(at)).store(dst.add(at));
                }
                let last = bytes - V::BYTES;
                V::load(token, src.add(last)).store(dst.add(last));
            }
            _ => std::ptr::copy_nonoverlapping(src, dst, bytes),
        }
    }
}

/// Copies a run with streamed stores of whole lines; what lies before the first and after the last
/// whole line is written by ordinary stores.
///
/// # Safety
/// As [`copy_run`], with `bytes` of a line at least.
#[inline(always)]
unsafe fn stream_run<V: Vector>(
    token: Token<V>,
    src: *const u8,
    dst: *mut u8,
    bytes: usize,
    next: Next,
) {
    let head = dst.align_offset(LINE);
    let end = head + (bytes - head) / LINE * LINE;
    let ahead = AHEAD_BYTES.min(end - head);
    // SAFETY: `at` stays within the run; `dst + at` is aligned from the head on.
    unsafe {
        copy_run(token, src, dst, head);
        for at in (head..end - ahead).step_by(LINE) {
            V::prefetch(src.wrapping_add(at + AHEAD_BYTES));
            stream_line(token, src.add(at), dst.add(at));
        }
        next.prefetch_partial(dst.add(bytes));
        for (index, at) in (end - ahead..end).step_by(LINE).enumerate() {
            V::prefetch(next.line(index));
            stream_line(token, src.add(at), dst.add(at));
        }
        next.prefetch_rest(ahead / LINE);
        copy_run(token, src.add(end), dst.add(end), bytes - end);
    }
}
