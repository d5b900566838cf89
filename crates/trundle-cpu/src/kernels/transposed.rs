//! Neighbours of the source become rows of the destination: the blocked transpose.
//!
//! ```text
//! for each group of columns that fills a line of the destination
//!     for each group of rows that fills a vector of the source
//!         for each square of the two (a vector's elements a side)
//!             load a vector from each column          (neighbours along the rows)
//!             zip the first half of the vectors with the second half, log2(side) times
//!         store the vectors of each row, which make a line     (neighbours along the columns)
//! ```

use std::mem::MaybeUninit;
use std::ops::Range;

use super::square::{MOST_VECTORS, transpose_square};
use super::{Side, Store, Tile, strided};
use crate::simd::{LINE, Vector};

/// How many columns ahead the source is asked for: the hardware does not foresee short runs that
/// are a row apart. A square of more columns asks for the next one.
const COLS_AHEAD: isize = 32;

/// How many bytes ahead in the same column instead, where all columns fall into the same sets of the
/// caches: what was asked for in later columns would be gone again before it is read.
const BYTES_AHEAD: isize = 4 * LINE.cast_signed();

/// Columns that are a multiple of this apart fall into the same sets of a first-level cache.
const ALIASING_BYTES: isize = 4096;

/// Where the source is asked for, from a place that is read now.
#[inline(always)]
fn bytes_ahead<const W: usize>(col_stride: isize) -> isize {
    if col_stride % ALIASING_BYTES == 0 {
        BYTES_AHEAD
    } else {
        COLS_AHEAD.max((LINE / W).cast_signed()) * col_stride
    }
}

/// Copies a tile whose rows are neighbours in the source and whose columns are neighbours in the
/// destination.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the width is 1, 2, 4, 8 or 16.
#[inline(always)]
pub(super) unsafe fn transposed<V: Vector>(tile: &Tile) {
    let tile = &rising(tile);
    // SAFETY: the contract is the same; W is the tile's width.
    unsafe {
        match tile.width {
            1 => lines::<V, 1>(tile),
            2 => lines::<V, 2>(tile),
            4 => lines::<V, 4>(tile),
            8 => lines::<V, 8>(tile),
            16 => lines::<V, 16>(tile),
            _ => strided::strided(tile),
        }
    }
}

/// The same tile with rows that rise through the source.
fn rising(tile: &Tile) -> Tile {
    if tile.rows.src_stride >= 0 {
        return *tile;
    }
    let last = tile.rows.len.cast_signed() - 1;
    Tile {
        src: tile.src.wrapping_offset(last * tile.rows.src_stride),
        dst: tile.dst.wrapping_offset(last * tile.rows.dst_stride),
        rows: Side {
            len: tile.rows.len,
            src_stride: -tile.rows.src_stride,
            dst_stride: -tile.rows.dst_stride,
        },
        ..*tile
    }
}

/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows.
#[inline(always)]
unsafe fn lines<V: Vector, const W: usize>(tile: &Tile) {
    let (line, side) = (LINE / W, V::BYTES / W);
    // Lines can be streamed if they are aligned in every row.
    let offset = tile.dst.align_offset(LINE);
    let aligned =
        offset.is_multiple_of(W) && tile.rows.dst_stride.unsigned_abs().is_multiple_of(LINE);
    let streamed = tile.store == Store::Streamed && aligned;
    let head = if streamed { (offset / W).min(tile.cols.len) } else { 0 };
    // SAFETY: the parts are parts of the tile; full squares are `side` elements a side.
    unsafe {
        strided::strided(&part(tile, 0..tile.rows.len, 0..head));
        let mut col = head;
        while col + line <= tile.cols.len {
            let mut row = 0;
            while row + side <= tile.rows.len {
                let part = part(tile, row..row + side, col..col + line);
                if streamed {
                    line_of_squares::<V, W, true>(&part);
                } else {
                    line_of_squares::<V, W, false>(&part);
                }
                row += side;
            }
            strided::strided(&part(tile, row..tile.rows.len, col..col + line));
            col += line;
        }
        strided::strided(&part(tile, 0..tile.rows.len, col..tile.cols.len));
    }
    if streamed {
        V::fence();
    }
}

/// A part of a tile.
#[inline(always)]
fn part(tile: &Tile, rows: Range<usize>, cols: Range<usize>) -> Tile {
    let (row, col) = (rows.start.cast_signed(), cols.start.cast_signed());
    let src = row * tile.rows.src_stride + col * tile.cols.src_stride;
    let dst = row * tile.rows.dst_stride + col * tile.cols.dst_stride;
    Tile {
        src: tile.src.wrapping_offset(src),
        dst: tile.dst.wrapping_offset(dst),
        rows: Side { len: rows.len(), ..tile.rows },
        cols: Side { len: cols.len(), ..tile.cols },
        ..*tile
    }
}

/// Transposes the squares that make one line of each row.
///
/// # Safety
/// The tile has `V::BYTES / W` rows, neighbours in the source, and `LINE / W` columns, neighbours
/// in the destination, where each row is an aligned line if `STREAMED`.
#[inline(always)]
unsafe fn line_of_squares<V: Vector, const W: usize, const STREAMED: bool>(tile: &Tile) {
    let side = V::BYTES / W;
    let squares = LINE / V::BYTES;
    // SAFETY: the loads and stores lie within the tile; a prefetch may point anywhere.
    unsafe {
        let mut turned = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
        let ahead = bytes_ahead::<W>(tile.cols.src_stride);
        for square in 0..squares {
            let vectors = &mut turned[square * side..(square + 1) * side];
            for (col, vector) in vectors.iter_mut().enumerate() {
                let col = (square * side + col).cast_signed();
                let src = tile.src.offset(col * tile.cols.src_stride);
                V::prefetch(src.wrapping_offset(ahead));
                vector.write(V::load(src));
            }
            transpose_square::<V, W>(vectors);
        }
        for row in 0..side {
            let dst = tile.row(row).1;
            for square in 0..squares {
                let vector = turned[square * side + row].assume_init();
                let to = dst.add(square * V::BYTES);
                if STREAMED { vector.stream(to) } else { vector.store(to) }
            }
        }
    }
}
