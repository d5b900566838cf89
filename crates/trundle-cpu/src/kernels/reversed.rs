//! Rows that are read backwards.

use super::{Opaque, Store, Tile, by_width, strided};
use crate::simd::{LINE, Lines};

/// Copies each row with its elements in the opposite order.
///
/// # Safety
/// As [`Run::Tile`](super::Run::Tile); the columns are neighbours, falling in the source and
/// rising in the destination.
#[inline(always)]
pub(super) unsafe fn reversed<L: Lines>(tile: &Tile) {
    // SAFETY: the contract is the same; W is the tile's width.
    by_width!(tile.width, W => unsafe { rows::<L, W>(tile) }, unsafe { strided::strided(tile) });
}

/// # Safety
/// As [`reversed`], for elements of W bytes.
#[inline(always)]
unsafe fn rows<L: Lines, const W: usize>(tile: &Tile) {
    // Only widths that divide a line have whole elements in each.
    let streamed = tile.store == Store::Streamed && LINE.is_multiple_of(W);
    for row in 0..tile.rows.len {
        // SAFETY: a row has `cols.len` elements at and before `src`, at and after `dst`.
        unsafe {
            let (src, dst) = tile.row(row);
            let mut done = 0;
            if streamed {
                let head = elements_to_line::<W>(dst, tile.cols.len);
                elements::<W>(src, dst, head);
                done = head
                    + stream_lines::<L, W>(
                        before::<W>(src, head),
                        dst.add(head * W),
                        tile.cols.len - head,
                    );
            }
            elements::<W>(before::<W>(src, done), dst.add(done * W), tile.cols.len - done);
        }
    }
    if streamed {
        L::fence();
    }
}

/// How many elements lie before the first line boundary; all of them where elements straddle it.
fn elements_to_line<const W: usize>(dst: *const u8, most: usize) -> usize {
    let bytes = dst.align_offset(LINE);
    if bytes.is_multiple_of(W) { most.min(bytes / W) } else { most }
}

/// The element `count` elements before `src`. It may lie before the buffer if it is not read.
#[inline(always)]
fn before<const W: usize>(src: *const u8, count: usize) -> *const u8 {
    src.wrapping_sub(count * W)
}

/// Streams as many whole lines of reversed elements as there are, and returns how many elements
/// that were.
///
/// # Safety
/// `count` elements are valid at and before `src` and, from an aligned line on, at `dst`.
#[inline(always)]
unsafe fn stream_lines<L: Lines, const W: usize>(
    src: *const u8,
    dst: *mut u8,
    count: usize,
) -> usize {
    let each = LINE / W;
    let mut done = 0;
    let mut line = Opaque::<LINE>::uninit();
    while done + each <= count {
        // SAFETY: `each` elements are left on both sides.
        unsafe {
            elements::<W>(before::<W>(src, done), line.as_mut_ptr().cast(), each);
            L::stream(line.as_ptr().cast(), dst.add(done * W));
        }
        done += each;
    }
    done
}

/// Copies `count` elements, falling from `src`, rising from `dst`.
///
/// # Safety
/// They are valid, and do not overlap.
#[inline(always)]
unsafe fn elements<const W: usize>(src: *const u8, dst: *mut u8, count: usize) {
    for i in 0..count {
        // SAFETY: i is below `count`.
        unsafe { strided::copy::<W>(before::<W>(src, i), dst.add(i * W)) };
    }
}
