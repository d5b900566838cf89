//! Neighbours of the source become rows of the destination: the blocked transpose.
//!
//! ```text
//! for each group of columns that fills a line of the destination (LINE / width of them)
//!     for each group of rows that fills a line of the source
//!         read a line from each column     (neighbours along the rows)
//!         turn the square in a buffer that stays in the first-level cache
//!         write a line to each row         (neighbours along the columns)
//! ```

use super::{Opaque, Side, Store, Tile, strided};
use crate::simd::{LINE, Lines};

/// How many columns ahead the source is asked for: the hardware does not foresee short runs that
/// are a row apart.
const COLS_AHEAD: isize = 32;

/// Copies a tile whose rows are neighbours in the source and whose columns are neighbours in the
/// destination.
///
/// # Safety
/// As [`Run::Tile`](super::Run::Tile); the width is 1, 2, 4, 8 or 16.
#[inline(always)]
pub(super) unsafe fn transposed<L: Lines>(tile: &Tile) {
    let tile = &rising(tile);
    // SAFETY: the contract is the same; W is the tile's width.
    unsafe {
        match tile.width {
            1 => squares::<L, 1>(tile),
            2 => squares::<L, 2>(tile),
            4 => squares::<L, 4>(tile),
            8 => squares::<L, 8>(tile),
            16 => squares::<L, 16>(tile),
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
unsafe fn squares<L: Lines, const W: usize>(tile: &Tile) {
    let side = LINE / W;
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
        while col + side <= tile.cols.len {
            let mut row = 0;
            while row + side <= tile.rows.len {
                let square = part(tile, row..row + side, col..col + side);
                if streamed {
                    square_streamed::<L, W>(&square);
                } else {
                    square_cached::<L, W>(&square);
                }
                row += side;
            }
            strided::strided(&part(tile, row..tile.rows.len, col..col + side));
            col += side;
        }
        strided::strided(&part(tile, 0..tile.rows.len, col..tile.cols.len));
    }
    if streamed {
        L::fence();
    }
}

/// A part of a tile.
fn part(tile: &Tile, rows: std::ops::Range<usize>, cols: std::ops::Range<usize>) -> Tile {
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

/// Lines of the destination on their way there; LINE / W of them are used.
type Square = [Opaque<LINE>; LINE];

/// Reads a full square, and turns it into lines of the destination.
///
/// # Safety
/// The tile is LINE / W elements a side, and its rows are neighbours in the source.
#[inline(always)]
unsafe fn turned<L: Lines, const W: usize>(tile: &Tile, lines: &mut Square) {
    let side = LINE / W;
    for col in 0..side {
        let at = col.cast_signed() * tile.cols.src_stride;
        L::prefetch(tile.src.wrapping_offset(at + COLS_AHEAD * tile.cols.src_stride));
        // SAFETY: a column of the square is a line of the source.
        let line: Opaque<LINE> =
            unsafe { tile.src.offset(at).cast::<Opaque<LINE>>().read_unaligned() };
        for (row, turned) in lines.iter_mut().enumerate().take(side) {
            // SAFETY: `row` and `col` are below the side: the element lies within its line.
            unsafe {
                let element = line.as_ptr().cast::<u8>().add(row * W);
                strided::copy::<W>(element, turned.as_mut_ptr().cast::<u8>().add(col * W));
            }
        }
    }
}

/// # Safety
/// As [`turned`]; every row of the destination is an aligned line.
#[inline(always)]
unsafe fn square_streamed<L: Lines, const W: usize>(tile: &Tile) {
    let mut lines: Square = [Opaque::uninit(); LINE];
    // SAFETY: the contract is the same, and each row of the tile is a line.
    unsafe {
        turned::<L, W>(tile, &mut lines);
        for (row, line) in lines.iter().enumerate().take(LINE / W) {
            L::stream(line.as_ptr().cast(), tile.row(row).1);
        }
    }
}

/// # Safety
/// As [`turned`].
#[inline(always)]
unsafe fn square_cached<L: Lines, const W: usize>(tile: &Tile) {
    let mut lines: Square = [Opaque::uninit(); LINE];
    // SAFETY: the contract is the same, and each row of the tile is a line.
    unsafe {
        turned::<L, W>(tile, &mut lines);
        for (row, line) in lines.iter().enumerate().take(LINE / W) {
            tile.row(row).1.cast::<Opaque<LINE>>().write_unaligned(*line);
        }
    }
}
