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

use super::square::{MOST_VECTORS, transpose_square};
use super::{Fold, Side, Store, Tile, strided};
use crate::simd::{LINE, Vector};

/// How many columns ahead the source is asked for: the hardware does not foresee short runs that
/// are a row apart.
const COLS_AHEAD: usize = 32;

/// The most rows of a streamed tile: what they carry stays in a first-level cache.
pub(crate) const MOST_ROWS: usize = 256;

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
    let aligned = tile.dst.addr().is_multiple_of(W)
        && tile.rows.dst_stride.unsigned_abs().is_multiple_of(W)
        && tile.row_fold.jump.unsigned_abs().is_multiple_of(W);
    let streamed = tile.store == Store::Streamed && aligned && tile.cols.len * W >= LINE;
    let mut next = Cursor::of_rows(tile);
    for first in (0..tile.rows.len).step_by(MOST_ROWS) {
        let count = MOST_ROWS.min(tile.rows.len - first);
        let mut rows = Rows { count, src: first * W, dsts: [MaybeUninit::uninit(); MOST_ROWS] };
        for dst in &mut rows.dsts[..count] {
            dst.write(tile.dst.wrapping_offset(next.next()));
        }
        // SAFETY: the rows are rows of the tile.
        unsafe {
            if streamed {
                stream_rows::<V, W>(tile, &rows);
            } else {
                store_rows::<V, W>(tile, &rows);
            }
        }
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
        group.step::<W>(tile.cols.len);
        // SAFETY: the columns are columns of the tile.
        unsafe { put_lines::<V, W, STORED>(&group, rows, &mut []) };
        group.done += group.count;
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
    let mut carried = [Carried([MaybeUninit::uninit(); LINE]); MOST_ROWS];
    let mut group = Group::of(tile, rows, W);
    // SAFETY: the columns are columns of the tile. The first group is a whole one, and from it on
    // every row carries a line.
    unsafe {
        group.step::<W>(tile.cols.len);
        put_lines::<V, W, BEGUN>(&group, rows, &mut carried);
        group.done += group.count;
        while group.done + LINE / W <= tile.cols.len {
            group.step::<W>(tile.cols.len);
            put_lines::<V, W, STREAMED>(&group, rows, &mut carried);
            group.done += group.count;
        }
        if group.done < tile.cols.len {
            group.step::<W>(tile.cols.len);
            put_lines::<V, W, ENDED>(&group, rows, &mut carried);
        } else {
            for (row, carried) in carried[..rows.count].iter().enumerate() {
                let dst = rows.dst(row).add(group.done * W);
                let over = dst.addr() % LINE;
                let line = Line::<V>::carried(carried);
                line.join::<W>(&line, LINE - over).store_first(dst.sub(over), over);
            }
        }
    }
}

/// What becomes of the lines of a group: they are stored through the caches, or streamed, joined
/// with what the rows carry; the first are begun, and the last ended, through the caches.
const STORED: u8 = 0;
const BEGUN: u8 = 1;
const STREAMED: u8 = 2;
const ENDED: u8 = 3;

/// Transposes the squares of a group of columns and puts their lines into the rows.
///
/// # Safety
/// The columns are valid for the rows, and the rows for the columns. Where lines are streamed or
/// ended, rows carry lines.
#[inline(always)]
unsafe fn put_lines<V: Vector, const W: usize, const PUT: u8>(
    group: &Group,
    rows: &Rows,
    carried: &mut [Carried],
) {
    let side = V::BYTES / W;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    let mut row = 0;
    // SAFETY: only rows that there are are read and written.
    unsafe {
        while row + side <= rows.count {
            for square in 0..LINE / V::BYTES {
                let vectors = &mut lines[square * side..(square + 1) * side];
                for (col, vector) in vectors.iter_mut().enumerate() {
                    let col = square * side + col;
                    V::prefetch(group.aheads[col].wrapping_add(row * W));
                    vector.write(V::load(group.srcs[col].add(row * W)));
                }
                transpose_square::<V, W>(vectors);
            }
            for i in 0..side {
                let line = Line::of(&lines, i, side);
                put_line::<V, W, PUT>(&line, group, rows, row + i, carried);
            }
            row += side;
        }
        let rest = rows.count - row;
        if rest > 0 {
            for square in 0..LINE / V::BYTES {
                let vectors = &mut lines[square * side..(square + 1) * side];
                for (col, vector) in vectors.iter_mut().enumerate() {
                    let src = group.srcs[square * side + col].add(row * W);
                    vector.write(V::load_first(src, rest * W));
                }
                transpose_square::<V, W>(vectors);
            }
            for i in 0..rest {
                let line = Line::of(&lines, i, side);
                put_line::<V, W, PUT>(&line, group, rows, row + i, carried);
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
    rows: &Rows,
    row: usize,
    carried: &mut [Carried],
) {
    // SAFETY: the caller vouches for the row.
    unsafe {
        let dst = rows.dst(row).add(group.done * W);
        let (over, bytes) = (dst.addr() % LINE, group.count * W);
        match PUT {
            STORED => line.store_first(dst, bytes),
            BEGUN => {
                line.store_first(dst, LINE - over);
                line.carry(&mut carried[row]);
            }
            STREAMED => {
                let carried = &mut carried[row];
                Line::carried(carried).join::<W>(line, LINE - over).stream(dst.sub(over));
                line.carry(carried);
            }
            _ => {
                let joined = Line::carried(&carried[row]).join::<W>(line, LINE - over);
                joined.store_first(dst.sub(over), (over + bytes).min(LINE));
                let rest = (over + bytes).saturating_sub(LINE);
                line.join::<W>(line, LINE - over).store_first(dst.sub(over).add(LINE), rest);
            }
        }
    }
}

/// Rows that are moved together.
struct Rows {
    count: usize,
    /// Where the first is read, in bytes from the tile's first row.
    src: usize,
    /// Where each is written.
    dsts: [MaybeUninit<*mut u8>; MOST_ROWS],
}

impl Rows {
    /// Where a row is written.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn dst(&self, row: usize) -> *mut u8 {
        // SAFETY: the destinations of all rows are known.
        unsafe { self.dsts[row].assume_init() }
    }
}

/// The offsets of rows or columns, one after another, on the side where they may jump.
struct Cursor {
    offset: isize,
    stride: isize,
    fold: Fold,
    /// How many steps are left until the next jump.
    until_jump: usize,
}

impl Cursor {
    fn of_rows(tile: &Tile) -> Cursor {
        let fold = tile.row_fold;
        Cursor { offset: 0, stride: tile.rows.dst_stride, fold, until_jump: fold.first }
    }

    fn of_cols(tile: &Tile) -> Cursor {
        let fold = tile.col_fold;
        Cursor { offset: 0, stride: tile.cols.src_stride, fold, until_jump: fold.first }
    }

    #[inline(always)]
    fn next(&mut self) -> isize {
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
    /// Where the first row of each column is read. The last stands for those that lack.
    srcs: [*const u8; LINE],
    /// Where the source is asked for meanwhile.
    aheads: [*const u8; LINE],
    /// The columns of later groups.
    next: Cursor,
    ahead: Cursor,
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
        let steps = COLS_AHEAD.max(LINE / width).min(tile.cols.len);
        for _ in 0..steps {
            ahead.next();
        }
        Group {
            count: 0,
            done: 0,
            srcs: [src; LINE],
            aheads: [src; LINE],
            next: Cursor::of_cols(tile),
            ahead,
            until_wrap: tile.cols.len - steps,
            wrapped,
            src,
        }
    }

    /// Goes to the next columns, of `cols` in all.
    #[inline(always)]
    fn step<const W: usize>(&mut self, cols: usize) {
        self.count = (cols - self.done).min(LINE / W);
        for col in 0..LINE / W {
            self.srcs[col] = if col < self.count {
                self.src.wrapping_offset(self.next.next())
            } else {
                self.srcs[col - 1]
            };
            let ahead = if self.until_wrap > 0 {
                self.until_wrap -= 1;
                self.ahead.next()
            } else {
                self.wrapped.next()
            };
            self.aheads[col] = self.src.wrapping_offset(ahead);
        }
    }
}

/// The most vectors of a line: those of the smallest registers.
const MOST_PARTS: usize = LINE / 16;

/// A line of elements in registers.
struct Line<V>([MaybeUninit<V>; MOST_PARTS]);

/// A line of elements in memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Carried([MaybeUninit<u8>; LINE]);

impl<V: Vector> Line<V> {
    const PARTS: usize = LINE / V::BYTES;

    /// The line of row `i`: a vector of each square.
    ///
    /// # Safety
    /// The vectors are initialised.
    #[inline(always)]
    unsafe fn of(squares: &[MaybeUninit<V>; MOST_VECTORS], i: usize, side: usize) -> Line<V> {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for part in 0..Self::PARTS {
            line.0[part] = squares[part * side + i];
        }
        line
    }

    /// # Safety
    /// The machine has the set of V, and the line was carried.
    #[inline(always)]
    unsafe fn carried(from: &Carried) -> Line<V> {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for part in 0..Self::PARTS {
            // SAFETY: the parts make up the line.
            line.0[part].write(unsafe { V::load(from.0.as_ptr().add(part * V::BYTES).cast()) });
        }
        line
    }

    /// # Safety
    /// The machine has the set of V.
    #[inline(always)]
    unsafe fn carry(&self, to: &mut Carried) {
        for part in 0..Self::PARTS {
            // SAFETY: the parts make up the line.
            unsafe {
                self.0[part].assume_init().store(to.0.as_mut_ptr().add(part * V::BYTES).cast());
            }
        }
    }

    /// The line from byte `at` on of this line and `next` in a row: 1 to [`LINE`], a multiple of W.
    ///
    /// # Safety
    /// The machine has the set of V.
    #[inline(always)]
    unsafe fn join<const W: usize>(&self, next: &Line<V>, at: usize) -> Line<V> {
        let part = |number: usize| match number.checked_sub(Self::PARTS) {
            // SAFETY: the parts of a line are initialised.
            None => unsafe { self.0[number].assume_init() },
            // SAFETY: the same.
            Some(number) => unsafe { next.0[number].assume_init() },
        };
        let (first, at) = ((at - 1) / V::BYTES, (at - 1) % V::BYTES + 1);
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for number in 0..Self::PARTS {
            // SAFETY: the caller vouches for the set.
            line.0[number]
                .write(unsafe { part(first + number).join::<W>(part(first + number + 1), at) });
        }
        line
    }

    /// Streams the line.
    ///
    /// # Safety
    /// The machine has the set of V, and `dst` is valid for writes and aligned to a line.
    #[inline(always)]
    unsafe fn stream(&self, dst: *mut u8) {
        for part in 0..Self::PARTS {
            // SAFETY: the caller vouches for the line.
            unsafe { self.0[part].assume_init().stream(dst.add(part * V::BYTES)) };
        }
    }

    /// Stores the first `bytes` bytes, at most [`LINE`], through the caches.
    ///
    /// # Safety
    /// The machine has the set of V, and `dst` is valid for writes of them.
    #[inline(always)]
    unsafe fn store_first(&self, dst: *mut u8, bytes: usize) {
        for part in 0..Self::PARTS {
            let at = part * V::BYTES;
            // SAFETY: the caller vouches for the bytes.
            unsafe {
                let vector = self.0[part].assume_init();
                if at + V::BYTES <= bytes {
                    vector.store(dst.add(at));
                } else if at < bytes {
                    vector.store_first(dst.add(at), bytes - at);
                }
            }
        }
    }
}
