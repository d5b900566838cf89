//! Rows that are read backwards.

use super::{Store, Tile, by_width, strided, windows};
use crate::simd::{LINE, Vector};

/// Copies each row with its elements in the opposite order.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the columns are neighbours, falling in the source and
/// rising in the destination.
#[inline(always)]
pub(super) unsafe fn reversed<V: Vector>(tile: &Tile) {
    // SAFETY: the contract is the same; W is the tile's width.
    unsafe {
        match tile.width {
            // Registers hold whole elements of these widths, and can reverse them.
            1 => vectors::<V, 1>(tile),
            2 => vectors::<V, 2>(tile),
            4 => vectors::<V, 4>(tile),
            8 => vectors::<V, 8>(tile),
            _ if V::PICKS => windows::backwards::<V>(tile),
            width => by_width!(width, W => elements_of_rows::<W>(tile), strided::strided(tile)),
        }
    }
}

/// # Safety
/// As [`reversed`], for elements of W bytes, which divide a vector.
#[inline(always)]
unsafe fn vectors<V: Vector, const W: usize>(tile: &Tile) {
    let each = V::BYTES / W;
    let streamed = tile.store == Store::Streamed;
    for row in 0..tile.rows.len {
        // SAFETY: a row has `cols.len` elements at and before `src`, at and after `dst`.
        unsafe {
            let (src, dst) = tile.row(row);
            let head = elements_to_line::<W>(dst).filter(|head| streamed && *head < tile.cols.len);
            let mut done = head.unwrap_or(0);
            elements::<W>(src, dst, done);
            while done + each <= tile.cols.len {
                // The vector that ends with the element that comes next.
                let vector = V::load(before::<W>(src, done + each - 1)).reverse::<W>();
                let to = dst.add(done * W);
                if head.is_some() {
                    vector.stream(to);
                } else {
                    vector.store(to);
                }
                done += each;
            }
            elements::<W>(before::<W>(src, done), dst.add(done * W), tile.cols.len - done);
        }
    }
}

/// # Safety
/// As [`reversed`], for elements of W bytes.
#[inline(always)]
unsafe fn elements_of_rows<const W: usize>(tile: &Tile) {
    for row in 0..tile.rows.len {
        // SAFETY: the row is one of the tile's.
        unsafe {
            let (src, dst) = tile.row(row);
            elements::<W>(src, dst, tile.cols.len);
        }
    }
}

/// How many elements lie before the first line boundary, if elements do not straddle it.
fn elements_to_line<const W: usize>(dst: *const u8) -> Option<usize> {
    let bytes = dst.align_offset(LINE);
    bytes.is_multiple_of(W).then_some(bytes / W)
}

/// The element `count` elements before `src`. It may lie before the buffer if it is not read.
#[inline(always)]
fn before<const W: usize>(src: *const u8, count: usize) -> *const u8 {
    src.wrapping_sub(count * W)
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
