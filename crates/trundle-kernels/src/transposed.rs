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
//!
//! Streamed stores want whole lines of the destination, and each row has lines of its own. So what
//! a row has beyond its last whole line is *carried*: kept until the next group completes the line.
//! Groups are gone through in strips, whose columns may be bundled before.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::bundle::Bundles;
use super::cursor::Cursor;
use super::joined::{is_joined, joined};
use super::line::{Kept, Line};
use super::near::{is_near, near};
use super::square::{LANE, MOST_VECTORS, transpose_lanes, transpose_square};
use super::strip::{MOST_ROWS, Rows, Strip};
use super::{Side, Store, Tile, wide};
use crate::simd::{LINE, Part, Vector};

/// Copies a tile whose rows are neighbours in the source and whose columns are neighbours in the
/// destination. Rows may jump in the destination, columns in the source.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the width is 1, 2, 4, 8, 16 or whole lines. Rows that jump
/// rise through the source.
#[inline(always)]
pub(super) unsafe fn transposed<V: Vector>(tile: &Tile) {
    // SAFETY: the contract is the same; W is the tile's width.
    unsafe {
        match tile.width {
            1 => V::apart::<Lines<1>>(tile),
            2 => V::apart::<Lines<2>>(tile),
            4 => V::apart::<Lines<4>>(tile),
            8 => V::apart::<Lines<8>>(tile),
            16 => V::apart::<Lines<16>>(tile),
            _ => V::apart::<Wide>(tile),
        }
    }
}

/// Elements of W bytes.
struct Lines<const W: usize>;

impl<const W: usize> Part for Lines<W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(tile: &Tile) {
        // SAFETY: the contract is the same.
        unsafe { lines::<V, W>(&rising(tile)) };
    }
}

/// Elements of whole lines.
struct Wide;

impl Part for Wide {
    #[inline(always)]
    unsafe fn run<V: Vector>(tile: &Tile) {
        // SAFETY: the contract is the same.
        unsafe { wide::wide::<V>(&rising(tile)) };
    }
}

/// Elements of W bytes in short rows that follow each other.
struct Joined<const W: usize>;

impl<const W: usize> Part for Joined<W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(tile: &Tile) {
        // SAFETY: the contract is the same.
        unsafe { joined::<V, W>(tile) };
    }
}

/// Elements of W bytes in rows, which are written as WRITTEN says.
struct Far<const W: usize, const WRITTEN: u8>;

/// Rows are stored through the caches, streamed, or streamed where their lines begin at the same columns.
const THROUGH: u8 = 0;
const PAST: u8 = 1;
const PAST_TOGETHER: u8 = 2;

impl<const W: usize, const WRITTEN: u8> Part for Far<W, WRITTEN> {
    #[inline(always)]
    unsafe fn run<V: Vector>(tile: &Tile) {
        let mut next = Cursor::of_rows(tile);
        for first in (0..tile.rows.len).step_by(MOST_ROWS) {
            let count = MOST_ROWS.min(tile.rows.len - first);
            let mut rows = Rows { count, src: first * W, dsts: [MaybeUninit::uninit(); MOST_ROWS] };
            for dst in &mut rows.dsts[..count] {
                let row = tile.dst.wrapping_offset(next.next());
                let over = row.addr() % LINE;
                dst.write((row.wrapping_sub(over), over));
            }
            // SAFETY: the rows are rows of the tile.
            unsafe {
                match WRITTEN {
                    PAST_TOGETHER => stream_aligned_rows::<V, W>(tile, &rows),
                    PAST => stream_rows::<V, W>(tile, &rows),
                    _ => store_rows::<V, W>(tile, &rows),
                }
            }
        }
    }
}

/// The same tile with rows that rise through the source.
pub(super) fn rising(tile: &Tile) -> Tile {
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
    if is_near(tile) {
        // SAFETY: the contract is the same.
        return unsafe { near::<V, W>(tile) };
    }
    // SAFETY: the contract is the same.
    unsafe { far::<V, W>(tile) };
}

/// [`lines`] of a tile that may be large.
///
/// # Safety
/// As [`lines`].
#[inline(always)]
unsafe fn far<V: Vector, const W: usize>(tile: &Tile) {
    let aligned = tile.dst.addr().is_multiple_of(W)
        && tile.rows.dst_stride.unsigned_abs().is_multiple_of(W)
        && tile.row_fold.is_multiple_of(W);
    let streamed = tile.store == Store::Streamed && aligned;
    let joined = streamed && is_joined(tile);
    let streamed = streamed && tile.cols.len * W >= LINE;
    // Whether lines begin at the same columns in every row.
    let together = tile.rows.dst_stride.unsigned_abs().is_multiple_of(LINE)
        && tile.row_fold.is_multiple_of(LINE);
    // SAFETY: the contract is the same; rows that are joined or streamed are aligned to elements.
    unsafe {
        if joined {
            V::apart::<Joined<W>>(tile);
        } else if streamed && together {
            V::apart::<Far<W, PAST_TOGETHER>>(tile);
        } else if streamed {
            V::apart::<Far<W, PAST>>(tile);
        } else {
            V::apart::<Far<W, THROUGH>>(tile);
        }
    }
}

/// Stores rows through the caches.
///
/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows.
#[inline(always)]
unsafe fn store_rows<V: Vector, const W: usize>(tile: &Tile, rows: &Rows) {
    let mut strip = Strip::of(tile, rows, W, None);
    for done in (0..tile.cols.len).step_by(LINE / W) {
        let count = (tile.cols.len - done).min(LINE / W);
        // SAFETY: the columns are columns of the tile.
        unsafe {
            strip.turn::<V, W>(done, count, 0, 0);
            put_lines::<V, W, STORED>(&mut strip, rows, 0..count, &mut []);
        }
    }
}

/// Streams whole lines of rows whose lines begin at the same columns: the columns before the first
/// of them and after the last are stored through the caches.
///
/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows, all aligned as the first.
#[inline(always)]
unsafe fn stream_aligned_rows<V: Vector, const W: usize>(tile: &Tile, rows: &Rows) {
    // SAFETY: there is a row, and it has a line or more.
    unsafe {
        let over = rows.dst(0).1;
        let head = if over > 0 { (LINE - over) / W } else { 0 };
        stream::<V, W, STORED, ALIGNED, STORED>(tile, rows, head, &mut []);
    }
}

/// Streams whole lines of rows. What a row has beyond its last whole line is carried to the next
/// group of columns.
///
/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows, each a line or longer, at multiples
/// of W.
#[inline(always)]
unsafe fn stream_rows<V: Vector, const W: usize>(tile: &Tile, rows: &Rows) {
    let mut carried = [Kept::NONE; MOST_ROWS];
    // SAFETY: the first group is a whole one, and from it on every row carries a line.
    unsafe {
        stream::<V, W, BEGUN, STREAMED, ENDED>(tile, rows, LINE / W, &mut carried);
        if tile.cols.len.is_multiple_of(LINE / W) {
            for (row, carried) in carried[..rows.count].iter().enumerate() {
                let (base, over) = rows.dst(row);
                let line = Line::<V>::load(carried.0.as_ptr().cast());
                let rest = line.join::<W>(&line, LINE - over);
                rest.store_first(base.wrapping_add(tile.cols.len * W), over);
            }
        }
    }
}

/// Streams rows: the first `head` columns as HEAD says, as many whole lines as there are then as
/// BODY, and what is left as TAIL.
///
/// # Safety
/// As [`put_lines`], for rows of the tile; it has `head` columns.
#[inline(always)]
unsafe fn stream<V: Vector, const W: usize, const HEAD: u8, const BODY: u8, const TAIL: u8>(
    tile: &Tile,
    rows: &Rows,
    head: usize,
    carried: &mut [Kept],
) {
    let (each, cols) = (LINE / W, tile.cols.len);
    let end = head + (cols - head) / each * each;
    let mut strip = Strip::of(tile, rows, W, Bundles::of(tile, rows, W));
    let most = strip.cols(W);
    // Where a strip ends: the first has the head's columns too, and the last those of the tail.
    let until = |from: usize| {
        let until = from.max(head) + most;
        if until < end { until } else { cols }
    };
    let blocks = (rows.count * W).div_ceil(V::BYTES);
    // SAFETY: the columns are columns of the tile.
    unsafe {
        if head > 0 {
            rows.prefetch::<V>(0);
        }
        if let Some(bundles) = &mut strip.bundles {
            bundles.turn::<V>(until(0), 1);
        }
        let mut from = 0;
        while from < cols {
            let to = until(from);
            let coming = if to < cols { until(to) - to } else { 0 };
            strip.turn::<V, W>(from, to - from, coming, blocks * (to - from).div_ceil(each));
            if to == cols {
                rows.prefetch::<V>(cols * W);
            }
            let (head, tail) = (head.saturating_sub(from), to.min(end) - from);
            if head > 0 {
                put_lines::<V, W, HEAD>(&mut strip, rows, 0..head, carried);
            }
            put_lines::<V, W, BODY>(&mut strip, rows, head..tail, carried);
            if tail < to - from {
                put_lines::<V, W, TAIL>(&mut strip, rows, tail..to - from, carried);
            }
            from = to;
        }
    }
}

/// What becomes of the lines of columns: they are stored through the caches, or streamed as they
/// are, where they are lines of the destination, or joined with what the rows carry; the first of
/// these are begun, and the last ended, through the caches.
const STORED: u8 = 0;
const ALIGNED: u8 = 1;
const BEGUN: u8 = 2;
const STREAMED: u8 = 3;
const ENDED: u8 = 4;

/// Transposes the squares of a group of columns and puts their lines into the rows.
///
/// # Safety
/// The columns are valid for the rows, and the rows for the columns. Where lines are streamed or
/// ended, rows carry lines.
#[inline(always)]
unsafe fn put_lines<V: Vector, const W: usize, const PUT: u8>(
    strip: &mut Strip,
    rows: &Rows,
    cols: Range<usize>,
    carried: &mut [Kept],
) {
    let side = V::BYTES / W;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    let mut row = 0;
    // SAFETY: only rows that there are are read and written.
    unsafe {
        while row < rows.count {
            let left = rows.count - row;
            if left < LANE / W {
                return put_some_lines::<V, W, PUT>(strip, rows, row..rows.count, cols, carried);
            }
            if left < side {
                put_lane_lines::<V, W, PUT>(strip, rows, row, cols.clone(), carried);
                row += LANE / W;
                continue;
            }
            for first in cols.clone().step_by(LINE / W) {
                let count = (cols.end - first).min(LINE / W);
                if let Some(bundles) = &mut strip.bundles {
                    bundles.copy_some::<V>();
                }
                for square in 0..LINE / V::BYTES {
                    let vectors = &mut lines[square * side..(square + 1) * side];
                    let cols = first + square * side..first + (square + 1) * side;
                    let (srcs, aheads) = (&strip.srcs[cols.clone()], &strip.aheads[cols]);
                    for (vector, (src, ahead)) in vectors.iter_mut().zip(srcs.iter().zip(aheads)) {
                        // A column begins anywhere in a line, so it ends in one line more.
                        let ahead = ahead.assume_init();
                        if row == 0 {
                            V::prefetch(ahead);
                        }
                        V::prefetch(ahead.wrapping_add(row * W + V::BYTES - 1));
                        vector.write(V::load(src.assume_init().add(row * W)));
                    }
                    transpose_square::<V, W>(vectors);
                }
                for i in 0..side {
                    let line = Line::of_row(&lines, i, side);
                    put_line::<V, W, PUT>(&line, strip, first, count, rows, row + i, carried);
                }
            }
            row += side;
        }
    }
}

/// [`put_lines`] for as many rows as a lane has elements, from `row` on. Each lane of a vector reads
/// a column of its own, so that a line needs no more than the transposes within lanes.
///
/// # Safety
/// As [`put_lines`], for those rows.
#[inline(always)]
unsafe fn put_lane_lines<V: Vector, const W: usize, const PUT: u8>(
    strip: &Strip,
    rows: &Rows,
    row: usize,
    cols: Range<usize>,
    carried: &mut [Kept],
) {
    let (each, lanes) = (LANE / W, V::BYTES / LANE);
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    // SAFETY: only rows that there are are read and written.
    unsafe {
        for first in cols.clone().step_by(LINE / W) {
            for part in 0..LINE / V::BYTES {
                let vectors = &mut lines[part * each..(part + 1) * each];
                let col = first + part * lanes * each;
                for (i, vector) in vectors.iter_mut().enumerate() {
                    let mut srcs = [strip.srcs[col + i].assume_init(); LINE / LANE];
                    for (lane, src) in srcs[..lanes].iter_mut().enumerate() {
                        let col = col + lane * each + i;
                        V::prefetch(strip.aheads[col].assume_init().wrapping_add(row * W));
                        *src = strip.srcs[col].assume_init().add(row * W);
                    }
                    vector.write(V::load_lanes(&srcs));
                }
                transpose_lanes::<V, W>(vectors);
            }
            for i in 0..each {
                let line = Line::of_row(&lines, i, each);
                let count = (cols.end - first).min(LINE / W);
                put_line::<V, W, PUT>(&line, strip, first, count, rows, row + i, carried);
            }
        }
    }
}

/// [`put_lines`] for less rows than a square has.
///
/// # Safety
/// As [`put_lines`], for the rows `some`.
#[inline(always)]
unsafe fn put_some_lines<V: Vector, const W: usize, const PUT: u8>(
    strip: &Strip,
    rows: &Rows,
    some: Range<usize>,
    cols: Range<usize>,
    carried: &mut [Kept],
) {
    let side = V::BYTES / W;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    // SAFETY: only rows that there are are read and written.
    unsafe {
        for first in cols.clone().step_by(LINE / W) {
            for square in 0..LINE / V::BYTES {
                let vectors = &mut lines[square * side..(square + 1) * side];
                let srcs = &strip.srcs[first + square * side..first + (square + 1) * side];
                for (vector, src) in vectors.iter_mut().zip(srcs) {
                    let src = src.assume_init().add(some.start * W);
                    vector.write(V::load_first(src, some.len() * W));
                }
                transpose_square::<V, W>(vectors);
            }
            for (i, row) in some.clone().enumerate() {
                let line = Line::of_row(&lines, i, side);
                let count = (cols.end - first).min(LINE / W);
                put_line::<V, W, PUT>(&line, strip, first, count, rows, row, carried);
            }
        }
    }
}

/// Puts the line of a group into a row.
///
/// # Safety
/// As [`put_lines`].
#[inline(always)]
unsafe fn put_line<V: Vector, const W: usize, const PUT: u8>(
    line: &Line<V>,
    strip: &Strip,
    first: usize,
    count: usize,
    rows: &Rows,
    row: usize,
    carried: &mut [Kept],
) {
    // SAFETY: the caller vouches for the row.
    unsafe {
        let (base, over) = rows.dst(row);
        // A row's first line may begin before the buffer, by what the row is over.
        let dst = base.wrapping_add((strip.done + first) * W);
        let bytes = count * W;
        match PUT {
            STORED => line.store_first(dst.wrapping_add(over), bytes),
            ALIGNED => line.stream(dst.wrapping_add(over)),
            BEGUN => {
                line.store_first(dst.wrapping_add(over), LINE - over);
                line.store(carried.get_unchecked_mut(row).0.as_mut_ptr().cast());
            }
            STREAMED => {
                let carried = carried.get_unchecked_mut(row).0.as_mut_ptr().cast::<u8>();
                Line::load(carried).join::<W>(line, LINE - over).stream(dst);
                line.store(carried);
            }
            _ => {
                let carried = carried.get_unchecked(row).0.as_ptr().cast();
                let joined = Line::load(carried).join::<W>(line, LINE - over);
                joined.store_first(dst, (over + bytes).min(LINE));
                let rest = (over + bytes).saturating_sub(LINE);
                line.join::<W>(line, LINE - over).store_first(dst.add(LINE), rest);
            }
        }
    }
}
