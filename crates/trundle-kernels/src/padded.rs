//! The transpose of elements of odd widths: each is padded to a power of two in registers, squares
//! of padded elements are transposed, and the padding is left out again.

use std::mem::MaybeUninit;

use super::square::{MOST_VECTORS, transpose_square};
use super::transposed::rising;
use super::{Tile, strided};
use crate::simd::{LINE, Vector};

/// How many columns ahead the source is asked for, as for the blocked transpose.
const COLS_AHEAD: usize = 32;

/// Copies a tile whose rows are neighbours in the source and whose columns are neighbours in the
/// destination.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile).
#[inline(always)]
pub(super) unsafe fn padded<V: Vector>(tile: &Tile) {
    // SAFETY: the contract is the same; P is a width that holds the tile's.
    unsafe {
        match tile.width {
            3 => squares::<V, 4>(tile),
            5..=7 => squares::<V, 8>(tile),
            9..=15 => squares::<V, 16>(tile),
            _ => strided::strided(tile),
        }
    }
}

/// # Safety
/// As [`padded`], for elements that are padded to P bytes.
#[inline(always)]
unsafe fn squares<V: Vector, const P: usize>(tile: &Tile) {
    let side = V::BYTES / P;
    let (rows, cols, width) = (tile.rows.len, tile.cols.len, tile.width);
    if side < 2 || rows * width < V::BYTES || cols < side {
        // SAFETY: the contract is the same.
        return unsafe { strided::strided(tile) };
    }
    let tile = &rising(tile);
    let places = &Places::new::<P>(width);
    for first in (0..cols).step_by(side) {
        // The last squares share columns and rows with those before.
        let col = first.min(cols - side);
        for first in (0..rows).step_by(side) {
            let row = first.min(rows - side);
            // SAFETY: the square lies within the tile.
            unsafe { square::<V, P>(tile, row, col, places) };
        }
    }
}

/// Where the bytes of padded elements are, and the bytes of elements without.
struct Places {
    /// The place of each byte of padded elements, for elements from place 0 on. The padding is some
    /// byte of its element.
    padded: [u8; LINE],
    /// The place of each byte of elements, in padded ones.
    packed: [u8; LINE],
}

impl Places {
    /// For elements of `width` bytes that are padded to P.
    #[inline(always)]
    fn new<const P: usize>(width: usize) -> Places {
        let (mut padded, mut packed) = ([0; LINE], [0; LINE]);
        for (byte, place) in padded.iter_mut().enumerate() {
            *place = (byte / P * width + (byte % P).min(width - 1)) as u8;
        }
        for (byte, place) in packed[..LINE / P * width].iter_mut().enumerate() {
            *place = (byte / width * P + byte % width) as u8;
        }
        Places { padded, packed }
    }
}

/// Transposes one square. What lies behind it in its rows of the destination is not kept, if it is
/// the tile's: later squares write it.
///
/// # Safety
/// As [`padded`]; the square of `V::BYTES / P` elements a side lies within the tile, whose rows rise
/// and are as many as fill a vector. The places are for its width.
#[inline(always)]
unsafe fn square<V: Vector, const P: usize>(tile: &Tile, row: usize, col: usize, places: &Places) {
    let (side, width) = (V::BYTES / P, tile.width);
    // A vector from the row on, or the last of the column: its elements are moved down.
    let from = (row * width).min(tile.rows.len * width - V::BYTES);
    let down = (row * width - from) as u8;
    let mut padded = places.padded;
    for place in &mut padded {
        *place = place.wrapping_add(down);
    }
    let mut vectors = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    let vectors = &mut vectors[..side];
    // SAFETY: what is read lies within the columns, what is written within the rows.
    unsafe {
        let (padded, packed) = (V::load(padded.as_ptr()), V::load(places.packed.as_ptr()));
        for (number, vector) in vectors.iter_mut().enumerate() {
            let at = (col + number).cast_signed() * tile.cols.src_stride;
            let src = tile.src.offset(at).add(from);
            let ahead = COLS_AHEAD.cast_signed() * tile.cols.src_stride;
            V::prefetch(src.wrapping_offset(ahead));
            let read = V::load(src);
            vector.write(read.pick::<1>(read, padded));
        }
        transpose_square::<V, P>(vectors);
        let whole = (tile.cols.len - col) * width >= V::BYTES;
        for (number, vector) in vectors.iter().enumerate() {
            let dst = tile.row(row + number).1.add(col * width);
            let vector = vector.assume_init();
            let vector = vector.pick::<1>(vector, packed);
            if whole {
                vector.store(dst);
            } else {
                vector.store_first(dst, side * width);
            }
        }
    }
}
