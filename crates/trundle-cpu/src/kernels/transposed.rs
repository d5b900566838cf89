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

use std::mem::MaybeUninit;
use std::ops::Range;

use super::line::{Kept, Line};
use super::square::{LANE, MOST_VECTORS, transpose_lanes, transpose_square};
use super::writer::Writer;
use super::{Fold, Side, Store, Tile, wide};
use crate::simd::{LINE, Vector};

/// How many columns ahead the source is asked for: the hardware does not foresee short runs that
/// are a row apart.
const COLS_AHEAD: usize = 32;

/// The columns that are gone through together, row by row: of bytes, so many that a row gets two
/// lines at once; of wider elements, one.
const STRIP_COLS: usize = 2 * LINE;

/// How many lines ahead in the same column instead, where all columns fall into the same sets.
const LINES_AHEAD: usize = 4;

/// Columns that are a multiple of this apart fall into the same sets of a first-level cache.
const ALIASING_BYTES: isize = 4096;

/// Rows of at most this many bytes that follow each other are put together in registers.
const MOST_JOINED_BYTES: usize = 4 * LINE;

/// How many bytes ahead in the same column the source is asked for, for such rows.
const JOINED_AHEAD: usize = 8 * LINE;

/// The rows that are moved together: what they carry stays in a first-level cache.
const MOST_ROWS: usize = 256;

/// Copies a tile whose rows are neighbours in the source and whose columns are neighbours in the
/// destination. Rows may jump in the destination, columns in the source.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the width is 1, 2, 4, 8 or 16. A streamed tile has at most
/// [`MOST_ROWS`] rows. Rows that jump rise through the source.
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
            _ => wide::wide::<V>(tile),
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
    let aligned = tile.dst.addr().is_multiple_of(W)
        && tile.rows.dst_stride.unsigned_abs().is_multiple_of(W)
        && tile.row_fold.jump.unsigned_abs().is_multiple_of(W);
    let streamed = tile.store == Store::Streamed && aligned;
    let row_bytes = tile.cols.len * W;
    if streamed
        && row_bytes <= MOST_JOINED_BYTES
        && tile.rows.dst_stride == row_bytes.cast_signed()
        && tile.rows.len > 1
    {
        let mut next = Cursor::of_rows(tile);
        let mut row = 0;
        while row < tile.rows.len {
            let len = next.until_jump.min(tile.rows.len - row);
            let rows = Tile {
                src: tile.src.wrapping_add(row * W),
                dst: tile.dst.wrapping_offset(next.offset),
                rows: Side { len, ..tile.rows },
                row_fold: Fold::NONE,
                ..*tile
            };
            // SAFETY: the rows are rows of the tile, between two jumps.
            unsafe { join_rows::<V, W>(&rows) };
            for _ in 0..len {
                next.next();
            }
            row += len;
        }
        return;
    }
    let streamed = streamed && row_bytes >= LINE;
    // Whether lines begin at the same columns in every row.
    let together = tile.rows.dst_stride.unsigned_abs().is_multiple_of(LINE)
        && tile.row_fold.jump.unsigned_abs().is_multiple_of(LINE);
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
            if streamed && together {
                stream_aligned_rows::<V, W>(tile, &rows);
            } else if streamed {
                stream_rows::<V, W>(tile, &rows);
            } else {
                store_rows::<V, W>(tile, &rows);
            }
        }
    }
}

/// How many columns of elements of this width are gone through together.
const fn strip_cols(width: usize) -> usize {
    if width == 1 { STRIP_COLS } else { LINE / width }
}

/// Whether the columns fall into the same sets of the caches: what is asked for in later columns is
/// gone again before it is read.
fn aliasing(tile: &Tile) -> bool {
    tile.cols.src_stride % ALIASING_BYTES == 0
}

/// Streams short rows that follow each other without a gap: their lines are put together from the
/// ends of rows.
///
/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows of at most [`MOST_JOINED_BYTES`] at
/// multiples of W, none of which jump.
#[inline(always)]
unsafe fn join_rows<V: Vector, const W: usize>(tile: &Tile) {
    let (each, side) = (LINE / W, V::BYTES / W);
    let groups = tile.cols.len.div_ceil(each);
    let mut srcs = [tile.src; MOST_JOINED_BYTES];
    let mut next = Cursor::of_cols(tile);
    for src in &mut srcs[..tile.cols.len] {
        *src = tile.src.wrapping_offset(next.next());
    }
    let last = srcs[tile.cols.len - 1];
    srcs[tile.cols.len..].fill(last);
    let mut lines = [[MaybeUninit::<V>::uninit(); MOST_VECTORS]; MOST_JOINED_BYTES / LINE];
    // SAFETY: only rows and columns that there are are read, and rows written one after another.
    unsafe {
        let mut writer = Writer::<V>::at(tile.dst);
        for row in (0..tile.rows.len).step_by(side) {
            let count = side.min(tile.rows.len - row);
            for (group, lines) in lines[..groups].iter_mut().enumerate() {
                for square in 0..LINE / V::BYTES {
                    let vectors = &mut lines[square * side..(square + 1) * side];
                    for (col, vector) in vectors.iter_mut().enumerate() {
                        let src = srcs[group * each + square * side + col].add(row * W);
                        if count == side {
                            V::prefetch(src.wrapping_add(JOINED_AHEAD));
                            vector.write(V::load(src));
                        } else {
                            vector.write(V::load_first(src, count * W));
                        }
                    }
                    transpose_square::<V, W>(vectors);
                }
            }
            for i in 0..count {
                let mut rest = tile.cols.len * W;
                for lines in &lines[..groups] {
                    writer.put_line_of::<W>(&Line::of_row(lines, i, side), rest.min(LINE));
                    rest = rest.saturating_sub(LINE);
                }
            }
        }
        writer.end();
    }
}

/// Stores rows through the caches.
///
/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows.
#[inline(always)]
unsafe fn store_rows<V: Vector, const W: usize>(tile: &Tile, rows: &Rows) {
    let mut group = Group::of(tile, rows, W);
    while group.done < tile.cols.len {
        group.step::<W>(LINE / W, tile.cols.len);
        // SAFETY: the columns are columns of the tile.
        unsafe { put_lines::<V, W, STORED>(&group, rows, &mut []) };
        group.done += group.count;
    }
}

/// Streams whole lines of rows whose lines begin at the same columns.
///
/// # Safety
/// As [`transposed`], for elements of W bytes and rising rows, all aligned as the first.
#[inline(always)]
unsafe fn stream_aligned_rows<V: Vector, const W: usize>(tile: &Tile, rows: &Rows) {
    let each = LINE / W;
    let mut group = Group::of(tile, rows, W);
    // SAFETY: the columns are columns of the tile; there is a row.
    unsafe {
        let over = rows.dst(0).1;
        if over > 0 {
            group.step::<W>((LINE - over) / W, tile.cols.len);
            put_lines::<V, W, STORED>(&group, rows, &mut []);
            group.done += group.count;
        }
        while group.done + each <= tile.cols.len {
            let whole = (tile.cols.len - group.done) / each * each;
            group.step::<W>(whole.min(strip_cols(W)), tile.cols.len);
            put_lines::<V, W, ALIGNED>(&group, rows, &mut []);
            group.done += group.count;
        }
        if group.done < tile.cols.len {
            group.step::<W>(each, tile.cols.len);
            put_lines::<V, W, STORED>(&group, rows, &mut []);
        }
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
    let mut group = Group::of(tile, rows, W);
    // SAFETY: the columns are columns of the tile. The first group is a whole one, and from it on
    // every row carries a line.
    unsafe {
        group.step::<W>(LINE / W, tile.cols.len);
        put_lines::<V, W, BEGUN>(&group, rows, &mut carried);
        group.done += group.count;
        while group.done + LINE / W <= tile.cols.len {
            let whole = (tile.cols.len - group.done) / (LINE / W) * (LINE / W);
            group.step::<W>(whole.min(strip_cols(W)), tile.cols.len);
            put_lines::<V, W, STREAMED>(&group, rows, &mut carried);
            group.done += group.count;
        }
        if group.done < tile.cols.len {
            group.step::<W>(LINE / W, tile.cols.len);
            put_lines::<V, W, ENDED>(&group, rows, &mut carried);
        } else {
            for (row, carried) in carried[..rows.count].iter().enumerate() {
                let (base, over) = rows.dst(row);
                let line = Line::<V>::load(carried.0.as_ptr().cast());
                line.join::<W>(&line, LINE - over).store_first(base.add(group.done * W), over);
            }
        }
    }
}

/// What becomes of the lines of a group: they are stored through the caches, or streamed as they
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
    group: &Group,
    rows: &Rows,
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
                return put_some_lines::<V, W, PUT>(group, rows, row..rows.count, carried);
            }
            if left < side {
                put_lane_lines::<V, W, PUT>(group, rows, row, carried);
                row += LANE / W;
                continue;
            }
            for first in (0..group.count).step_by(LINE / W) {
                for square in 0..LINE / V::BYTES {
                    let vectors = &mut lines[square * side..(square + 1) * side];
                    let cols = first + square * side..first + (square + 1) * side;
                    let (srcs, aheads) = (&group.srcs[cols.clone()], &group.aheads[cols]);
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
                    put_line::<V, W, PUT>(&line, group, first, rows, row + i, carried);
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
    group: &Group,
    rows: &Rows,
    row: usize,
    carried: &mut [Kept],
) {
    let (each, lanes) = (LANE / W, V::BYTES / LANE);
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    // SAFETY: only rows that there are are read and written.
    unsafe {
        for first in (0..group.count).step_by(LINE / W) {
            for part in 0..LINE / V::BYTES {
                let vectors = &mut lines[part * each..(part + 1) * each];
                let col = first + part * lanes * each;
                for (i, vector) in vectors.iter_mut().enumerate() {
                    let mut srcs = [group.srcs[col + i].assume_init(); LINE / LANE];
                    for (lane, src) in srcs[..lanes].iter_mut().enumerate() {
                        let col = col + lane * each + i;
                        V::prefetch(group.aheads[col].assume_init().wrapping_add(row * W));
                        *src = group.srcs[col].assume_init().add(row * W);
                    }
                    vector.write(V::load_lanes(&srcs));
                }
                transpose_lanes::<V, W>(vectors);
            }
            for i in 0..each {
                let line = Line::of_row(&lines, i, each);
                put_line::<V, W, PUT>(&line, group, first, rows, row + i, carried);
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
    group: &Group,
    rows: &Rows,
    some: Range<usize>,
    carried: &mut [Kept],
) {
    let side = V::BYTES / W;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    // SAFETY: only rows that there are are read and written.
    unsafe {
        for first in (0..group.count).step_by(LINE / W) {
            for square in 0..LINE / V::BYTES {
                let vectors = &mut lines[square * side..(square + 1) * side];
                let srcs = &group.srcs[first + square * side..first + (square + 1) * side];
                for (vector, src) in vectors.iter_mut().zip(srcs) {
                    let src = src.assume_init().add(some.start * W);
                    vector.write(V::load_first(src, some.len() * W));
                }
                transpose_square::<V, W>(vectors);
            }
            for (i, row) in some.clone().enumerate() {
                let line = Line::of_row(&lines, i, side);
                put_line::<V, W, PUT>(&line, group, first, rows, row, carried);
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
    group: &Group,
    first: usize,
    rows: &Rows,
    row: usize,
    carried: &mut [Kept],
) {
    // SAFETY: the caller vouches for the row.
    unsafe {
        let (base, over) = rows.dst(row);
        let dst = base.add((group.done + first) * W);
        let bytes = (group.count - first).min(LINE / W) * W;
        match PUT {
            STORED => line.store_first(dst.add(over), bytes),
            ALIGNED => line.stream(dst.add(over)),
            BEGUN => {
                line.store_first(dst.add(over), LINE - over);
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

/// Rows that are moved together.
struct Rows {
    count: usize,
    /// Where the first is read, in bytes from the tile's first row.
    src: usize,
    /// Where the line begins that each begins in, and how many bytes of it are before the row.
    dsts: [MaybeUninit<(*mut u8, usize)>; MOST_ROWS],
}

impl Rows {
    /// Where the line begins that a row begins in, and how many bytes of it are before the row.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn dst(&self, row: usize) -> (*mut u8, usize) {
        // SAFETY: the destinations of all rows are known.
        unsafe { self.dsts.get_unchecked(row).assume_init() }
    }
}

/// The offsets of rows or columns, one after another, on the side where they may jump.
pub(super) struct Cursor {
    offset: isize,
    stride: isize,
    fold: Fold,
    /// How many steps are left until the next jump.
    until_jump: usize,
}

impl Cursor {
    pub(super) fn of_rows(tile: &Tile) -> Cursor {
        let fold = tile.row_fold;
        Cursor { offset: 0, stride: tile.rows.dst_stride, fold, until_jump: fold.first }
    }

    pub(super) fn of_cols(tile: &Tile) -> Cursor {
        let fold = tile.col_fold;
        Cursor { offset: 0, stride: tile.cols.src_stride, fold, until_jump: fold.first }
    }

    /// Goes on by `steps` steps.
    #[inline(always)]
    pub(super) fn skip(&mut self, steps: usize) {
        if steps < self.until_jump {
            self.offset = self.offset.wrapping_add(steps.cast_signed() * self.stride);
            self.until_jump -= steps;
        } else {
            for _ in 0..steps {
                self.next();
            }
        }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> isize {
        let offset = self.offset;
        self.offset = offset.wrapping_add(self.stride);
        self.until_jump -= 1;
        if self.until_jump == 0 {
            self.offset = self.offset.wrapping_add(self.fold.jump);
            self.until_jump = self.fold.every;
        }
        offset
    }
}

/// Columns that make a line of each row.
struct Group {
    /// The number of columns.
    count: usize,
    /// The number of columns of the tile before them.
    done: usize,
    /// Where the first row of each column is read.
    srcs: [MaybeUninit<*const u8>; STRIP_COLS],
    /// Where the source is asked for meanwhile.
    aheads: [MaybeUninit<*const u8>; STRIP_COLS],
    /// The columns of later groups.
    next: Cursor,
    ahead: Cursor,
    /// Whether all columns fall into the same sets of the caches.
    aliasing: bool,
    /// How many columns are left until those ahead are the first of the rows that come next.
    until_wrap: usize,
    wrapped: Cursor,
    src: *const u8,
}

impl Group {
    /// Before the first group of a tile.
    #[inline(always)]
    fn of(tile: &Tile, rows: &Rows, width: usize) -> Group {
        let src = tile.src.wrapping_add(rows.src);
        let mut wrapped = Cursor::of_cols(tile);
        wrapped.offset = (rows.count * width).cast_signed();
        let mut ahead = Cursor::of_cols(tile);
        let steps = COLS_AHEAD.max(strip_cols(width)).min(tile.cols.len);
        ahead.skip(steps);
        Group {
            count: 0,
            done: 0,
            srcs: [MaybeUninit::uninit(); STRIP_COLS],
            aheads: [MaybeUninit::uninit(); STRIP_COLS],
            next: Cursor::of_cols(tile),
            ahead,
            aliasing: aliasing(tile),
            until_wrap: tile.cols.len - steps,
            wrapped,
            src,
        }
    }

    /// The next column that is asked for.
    #[inline(always)]
    fn next_ahead(&mut self) -> isize {
        if self.until_wrap == 0 {
            return self.wrapped.next();
        }
        self.until_wrap -= 1;
        self.ahead.next()
    }

    /// Goes to the next columns, of `cols` in all.
    #[inline(always)]
    fn step<const W: usize>(&mut self, most: usize, cols: usize) {
        self.count = (cols - self.done).min(most);
        // Lines that lack columns have the last in their place.
        let mut src = self.src;
        for col in 0..most.next_multiple_of(LINE / W) {
            if col < self.count {
                src = self.src.wrapping_offset(self.next.next());
            }
            self.srcs[col].write(src);
            let ahead = if self.aliasing {
                src.wrapping_add((LINES_AHEAD - 1) * LINE)
            } else {
                self.src.wrapping_offset(self.next_ahead())
            };
            self.aheads[col].write(ahead);
        }
    }
}
