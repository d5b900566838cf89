//! Transposes elements whose size is not a power of two: they are padded in registers, transposed as micro-tiles, and
//! stripped of the padding.

use core::mem::MaybeUninit;

use super::micro_tile::{MOST_VECTORS, transpose_micro_tile, written};
use crate::elements::strided;
use crate::pattern::{Pattern, Space};
use crate::simd::{Indices, LINE, Token, Vector};
use crate::tile::Tile;

/// Prefetch distance for the source, in columns.
const COLS_AHEAD: usize = 32;

/// Applies to a transpose of enough elements of 3 to 15 bytes whose size is not a power of two.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    (3..16).contains(&width)
        && !width.is_power_of_two()
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.0.unsigned_abs() == width
        && rows * width >= LINE
        && cols * width >= LINE
}

pub(crate) fn tile(space: &Space) -> (usize, usize) {
    super::tile_of(space.pattern.width)
}

/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    // SAFETY: the caller upholds `# Safety`. P is at least the size of an element.
    unsafe {
        match tile.width {
            3 => micro_tiles::<V, 4>(token, tile),
            5..=7 => micro_tiles::<V, 8>(token, tile),
            9..=15 => micro_tiles::<V, 16>(token, tile),
            _ => strided::run(tile),
        }
    }
}

/// # Safety
/// As [`run`], for elements that are padded to P bytes.
#[inline(always)]
unsafe fn micro_tiles<V: Vector, const P: usize>(token: Token<V>, tile: &Tile) {
    let side = V::BYTES / P;
    let (rows, cols, width) = (tile.rows.len, tile.cols.len, tile.width);
    if side < 2 || rows * width < V::BYTES || cols < side {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { strided::run(tile) };
    }
    let tile = &tile.rising();
    let indices = &ShuffleIndices::new::<P>(width);
    for first in (0..cols).step_by(side) {
        // The last micro-tiles may overlap the previous ones.
        let col = first.min(cols - side);
        for first in (0..rows).step_by(side) {
            let row = first.min(rows - side);
            // SAFETY: the micro-tile is within the tile.
            unsafe { micro_tile::<V, P>(token, tile, row, col, indices) };
        }
    }
}

/// The shuffle indices that add and remove padding.
struct ShuffleIndices {
    /// For each byte of padded elements, its position without padding. Padding repeats the last byte of an element.
    padded: [u8; LINE],
    /// For each byte of elements, its position with padding.
    packed: [u8; LINE],
}

impl ShuffleIndices {
    #[inline(always)]
    fn new<const P: usize>(width: usize) -> ShuffleIndices {
        let (mut padded, mut packed) = ([0; LINE], [0; LINE]);
        for (byte, index) in padded.iter_mut().enumerate() {
            *index = (byte / P * width + (byte % P).min(width - 1)) as u8;
        }
        for (byte, index) in packed[..LINE / P * width].iter_mut().enumerate() {
            *index = (byte / width * P + byte % width) as u8;
        }
        ShuffleIndices { padded, packed }
    }
}

/// Transposes one micro-tile. It may also write bytes after its end in rows of the destination, which later micro-tiles
/// write again.
///
/// # Safety
/// As [`run`]. The micro-tile has `V::BYTES / P` rows and columns and is within the tile. The rows of the tile ascend
/// and fill at least a vector. `indices` are made for its width.
#[inline(always)]
unsafe fn micro_tile<V: Vector, const P: usize>(
    token: Token<V>,
    tile: &Tile,
    row: usize,
    col: usize,
    indices: &ShuffleIndices,
) {
    let (side, width) = (V::BYTES / P, tile.width);
    // The vector begins at the row. Near the end of the column, the last vector is read instead, and the shuffle moves
    // its elements down.
    let from = (row * width).min(tile.rows.len * width - V::BYTES);
    let down = (row * width - from) as u8;
    let mut padded = indices.padded;
    for index in &mut padded {
        *index = index.wrapping_add(down);
    }
    let mut vectors = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    let vectors = &mut vectors[..side];
    let padded = Indices::new(token, &padded);
    let packed = Indices::new(token, &indices.packed);
    // SAFETY: all reads are within the columns, and all writes within the rows.
    unsafe {
        for (index, vector) in vectors.iter_mut().enumerate() {
            let at = (col + index).cast_signed() * tile.cols.src_stride;
            let src = tile.src.offset(at).add(from);
            let ahead = COLS_AHEAD.cast_signed() * tile.cols.src_stride;
            V::prefetch(src.wrapping_offset(ahead));
            let read = V::load(token, src);
            vector.write(read.shuffle::<1>(read, padded));
        }
        let vectors = written(vectors);
        transpose_micro_tile::<V, P>(vectors);
        let whole = (tile.cols.len - col) * width >= V::BYTES;
        for (index, vector) in vectors.iter().enumerate() {
            let dst = tile.row(row + index).1.add(col * width);
            let vector = vector.shuffle::<1>(*vector, packed);
            if whole {
                vector.store(dst);
            } else {
                vector.store_first(dst, side * width);
            }
        }
    }
}
