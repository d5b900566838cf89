//! Transposes tiles that fit in the caches, by ordinary stores.
//!
//! Row addresses are not computed in advance, which would take longer than moving small tiles.

use core::mem::MaybeUninit;

use super::cursor::Cursor;
use super::micro_tile::{
    LANE, MOST_VECTORS, transpose_micro_tile, transpose_within_lanes, written,
};
use crate::elements::copy::copy;
use crate::parts::line::Line;
use crate::simd::{LINE, Outlined, Token, Vector};
use crate::tile::Tile;

/// The addresses of the columns that make up a line of each row, the last one repeated if there are too few.
type Cols = [*const u8; LINE];

pub(crate) struct CacheResident<const W: usize>;

impl<const W: usize> Outlined for CacheResident<W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        unsafe { cache_resident::<V, W>(token, tile) };
    }
}

/// # Safety
/// As [`transposed`](super::transposed::run), for elements of W bytes and ascending rows.
#[inline(always)]
unsafe fn cache_resident<V: Vector, const W: usize>(token: Token<V>, tile: &Tile) {
    if W == LANE {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { lanes_one_by_one::<W>(tile) };
    }
    let (each, side) = (LINE / W, V::BYTES / W);
    let mut cols: Cols = [tile.src; LINE];
    let mut next_col = Cursor::of_cols(tile);
    for first in (0..tile.cols.len).step_by(each) {
        let count = (tile.cols.len - first).min(each);
        let mut src = tile.src;
        for (index, col) in cols[..each].iter_mut().enumerate() {
            if index < count {
                src = tile.src.wrapping_offset(next_col.next());
            }
            *col = src;
        }
        let mut group = Group {
            token,
            cols: &cols,
            dst: tile.dst.wrapping_add(first * W),
            bytes: count * W,
            next_row: Cursor::of_rows(tile),
        };
        let (mut row, rows) = (0, tile.rows.len);
        // SAFETY: the rows and columns belong to the tile.
        unsafe {
            // For elements of 8 bytes, lanes take fewer instructions than whole micro-tiles.
            while W < 8 && rows - row >= side {
                group.micro_tile::<W>(row, side);
                row += side;
            }
            while rows - row >= LANE / W {
                group.lanes::<W>(row);
                row += LANE / W;
            }
            if row < rows && row > 0 {
                // Moving some rows again is faster than a micro-tile of few rows.
                group.next_row = Cursor::of_rows(tile);
                group.next_row.skip(rows - LANE / W);
                group.lanes::<W>(rows - LANE / W);
            } else if row < rows {
                group.micro_tile::<W>(row, rows - row);
            }
        }
    }
}

/// The numbers of rows and columns of 16-byte elements whose lines stay in the first-level cache from row to row.
const LANE_ROWS: usize = 2 * LINE / LANE;
const LANE_COLS: usize = 160;

/// Transposes elements that each fill a lane, row by row, with a load and a store each. If rows begin within lines of
/// the destination, assembling whole lines is not faster. Nor are several rows at once, because stores to alternating
/// lines wait for each other (measured; docs/notes/kernels.md).
///
/// # Safety
/// As [`cache_resident`].
#[inline(always)]
unsafe fn lanes_one_by_one<const W: usize>(tile: &Tile) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe {
        match tile.cols.len {
            2 => return few_columns::<W, 2>(tile),
            3 => return few_columns::<W, 3>(tile),
            4 => return few_columns::<W, 4>(tile),
            5 => return few_columns::<W, 5>(tile),
            6 => return few_columns::<W, 6>(tile),
            7 => return few_columns::<W, 7>(tile),
            _ => {}
        }
    }
    // Groups of similar length, except the last one.
    let most = tile.cols.len.div_ceil(tile.cols.len.div_ceil(LANE_COLS).max(1)).max(1);
    let mut next_row = Cursor::of_rows(tile);
    for row in (0..tile.rows.len).step_by(LANE_ROWS) {
        let rows = (tile.rows.len - row).min(LANE_ROWS);
        let mut dsts = [tile.dst; LANE_ROWS];
        for dst in &mut dsts[..rows] {
            *dst = tile.dst.wrapping_offset(next_row.next());
        }
        let mut next_col = Cursor::of_cols(tile);
        let mut col = 0;
        while col < tile.cols.len {
            let count = (tile.cols.len - col).min(most).min(next_col.until_jump);
            let src = tile.src.wrapping_add(row * W).wrapping_offset(next_col.offset);
            for (index, dst) in dsts[..rows].iter().enumerate() {
                let (src, dst) = (src.wrapping_add(index * W), dst.wrapping_add(col * W));
                // SAFETY: the elements belong to the tile. The columns do not jump before the last of these.
                unsafe { contiguous::<W>(src, tile.cols.src_stride, dst, count) };
            }
            next_col.skip(count);
            col += count;
        }
    }
}

/// Copies `count` elements that are `stride` bytes apart to contiguous elements.
///
/// # Safety
/// The elements are valid for reads in the source and for writes in the destination.
#[inline(always)]
unsafe fn contiguous<const W: usize>(
    mut src: *const u8,
    stride: isize,
    mut dst: *mut u8,
    count: usize,
) {
    const UNROLLED: usize = 4;
    // SAFETY: the caller guarantees that the elements are valid.
    unsafe {
        for _ in 0..count / UNROLLED {
            for at in 0..UNROLLED {
                copy::<W>(src.wrapping_offset(at.cast_signed() * stride), dst.wrapping_add(at * W));
            }
            src = src.wrapping_offset(UNROLLED.cast_signed() * stride);
            dst = dst.wrapping_add(UNROLLED * W);
        }
        for _ in 0..count % UNROLLED {
            copy::<W>(src, dst);
            src = src.wrapping_offset(stride);
            dst = dst.wrapping_add(W);
        }
    }
}

/// # Safety
/// As [`cache_resident`]. The tile has COLS columns.
#[inline(always)]
unsafe fn few_columns<const W: usize, const COLS: usize>(tile: &Tile) {
    let (mut next_row, mut next_col) = (Cursor::of_rows(tile), Cursor::of_cols(tile));
    let mut srcs = [tile.src; COLS];
    for src in &mut srcs {
        *src = tile.src.wrapping_offset(next_col.next());
    }
    for row in 0..tile.rows.len {
        let dst = tile.dst.wrapping_offset(next_row.next());
        for (col, src) in srcs.iter().enumerate() {
            // SAFETY: the element belongs to the tile.
            unsafe { copy::<W>(src.wrapping_add(row * W), dst.wrapping_add(col * W)) };
        }
    }
}

/// The columns of a line of each row, or a part of one, and the position of the next row.
struct Group<'a, V> {
    token: Token<V>,
    cols: &'a Cols,
    dst: *mut u8,
    bytes: usize,
    next_row: Cursor,
}

impl<V: Vector> Group<'_, V> {
    /// Moves the next `count` rows, at most as many as a vector has elements.
    ///
    /// # Safety
    /// The rows belong to the tile, and the first is `row`.
    #[inline(always)]
    unsafe fn micro_tile<const W: usize>(&mut self, row: usize, count: usize) {
        let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            self.micro_tile_lines::<W>(row, count, &mut lines);
            if count == V::BYTES / W {
                // With a constant number, the lines stay in registers.
                self.put(&lines, V::BYTES / W, V::BYTES / W);
            } else {
                self.put(&lines, V::BYTES / W, count);
            }
        }
    }

    /// Moves the next rows, as many as a lane has elements.
    ///
    /// # Safety
    /// The rows belong to the tile, and the first is `row`.
    #[inline(always)]
    unsafe fn lanes<const W: usize>(&mut self, row: usize) {
        let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            self.lane_lines::<W>(row, &mut lines);
            self.put(&lines, LANE / W, LANE / W);
        }
    }

    /// # Safety
    /// The rows belong to the tile. `lines` contains their lines, in micro-tiles of `side` vectors.
    #[inline(always)]
    unsafe fn put(&mut self, lines: &[MaybeUninit<V>; MOST_VECTORS], side: usize, count: usize) {
        for i in 0..count {
            let dst = self.dst.wrapping_offset(self.next_row.next());
            // Prefetches the line at the end of the next columns: rows are far apart, and stores wait for their lines.
            V::prefetch(dst.wrapping_add(2 * LINE - 1));
            // SAFETY: the caller guarantees that the bytes are valid.
            unsafe { Line::of_row(lines, i, side).store_first(dst, self.bytes) };
        }
    }

    /// Makes the lines of `count` rows, at most as many as a vector has elements.
    ///
    /// # Safety
    /// The rows are valid in all columns.
    #[inline(always)]
    unsafe fn micro_tile_lines<const W: usize>(
        &self,
        row: usize,
        count: usize,
        lines: &mut [MaybeUninit<V>; MOST_VECTORS],
    ) {
        let side = V::BYTES / W;
        for part in (0..LINE / V::BYTES).take_while(|part| part * V::BYTES < self.bytes) {
            let vectors = &mut lines[part * side..(part + 1) * side];
            for (vector, col) in vectors.iter_mut().zip(&self.cols[part * side..]) {
                let src = col.wrapping_add(row * W);
                // SAFETY: the caller guarantees that the bytes are valid.
                vector.write(unsafe {
                    if count == side {
                        V::load(self.token, src)
                    } else {
                        V::load_first(self.token, src, count * W)
                    }
                });
            }
            // SAFETY: all vectors are written.
            transpose_micro_tile::<V, W>(unsafe { written(vectors) });
        }
    }

    /// Makes the lines of as many rows as a lane has elements. Each lane of a vector has its own column.
    ///
    /// # Safety
    /// As [`Group::micro_tile_lines`].
    #[inline(always)]
    unsafe fn lane_lines<const W: usize>(
        &self,
        row: usize,
        lines: &mut [MaybeUninit<V>; MOST_VECTORS],
    ) {
        let (each, lanes) = (LANE / W, V::BYTES / LANE);
        for part in (0..LINE / V::BYTES).take_while(|part| part * V::BYTES < self.bytes) {
            let vectors = &mut lines[part * each..(part + 1) * each];
            for (i, vector) in vectors.iter_mut().enumerate() {
                let mut srcs = [self.cols[part * lanes * each]; LINE / LANE];
                for (lane, src) in srcs[..lanes].iter_mut().enumerate() {
                    *src = self.cols[(part * lanes + lane) * each + i].wrapping_add(row * W);
                }
                // SAFETY: the caller guarantees that the bytes are valid.
                vector.write(unsafe { V::load_lanes(self.token, &srcs) });
            }
            // SAFETY: all vectors are written.
            transpose_within_lanes::<V, W>(unsafe { written(vectors) });
        }
    }
}
