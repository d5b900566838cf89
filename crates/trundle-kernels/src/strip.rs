//! What a transpose moves together: rows, and strips of columns.

use std::mem::MaybeUninit;

use super::Tile;
use super::bundle::{Bundles, MOST_BUNDLED_COLS};
use super::cursor::{Ahead, Cursor};
use crate::simd::{LINE, Vector};

/// How far ahead the source is asked for, in columns and, where those are short, in bytes: the
/// hardware does not foresee short runs that are a row apart, nor where columns jump (measured;
/// docs/kernels.md).
const COLS_AHEAD: usize = 32;
const BYTES_AHEAD: usize = 8 << 10;

/// The columns that are gone through together, row by row: of bytes, so many that a row gets two
/// lines at once; of wider elements, one.
const STRIP_COLS: usize = 2 * LINE;

/// The most columns of a strip, with those of a first and of a last line.
const MOST_STRIP_COLS: usize = MOST_BUNDLED_COLS + 2 * LINE;

/// How many lines ahead in the same column instead, where all columns fall into the same sets.
const LINES_AHEAD: usize = 4;

/// Columns that are a multiple of this apart fall into the same sets of a first-level cache.
const ALIASING_BYTES: isize = 4096;

/// The rows that are moved together: what they carry stays near.
pub(super) const MOST_ROWS: usize = 512;

/// How many columns of elements of this width are gone through together.
const fn strip_cols(width: usize) -> usize {
    if width == 1 { STRIP_COLS } else { LINE / width }
}

/// Whether the columns fall into the same sets of the caches: what is asked for in later columns is
/// gone again before it is read.
fn aliasing(tile: &Tile) -> bool {
    tile.cols.src_stride % ALIASING_BYTES == 0
}

/// Rows that are moved together.
pub(super) struct Rows {
    pub(super) count: usize,
    /// Where the first is read, in bytes from the tile's first row.
    pub(super) src: usize,
    /// Where the line begins that each begins in, and how many bytes of it are before the row.
    pub(super) dsts: [MaybeUninit<(*mut u8, usize)>; MOST_ROWS],
}

impl Rows {
    /// Where the line begins that a row begins in, and how many bytes of it are before the row.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(super) unsafe fn dst(&self, row: usize) -> (*mut u8, usize) {
        // SAFETY: the destinations of all rows are known.
        unsafe { self.dsts.get_unchecked(row).assume_init() }
    }

    /// Where the rows are read that come next, in bytes from the first of these: of the tile, or of
    /// the next one.
    #[inline(always)]
    pub(super) fn next(&self, tile: &Tile) -> isize {
        let bytes = self.count * tile.width;
        let after = match tile.next {
            Some(next) if self.src + bytes == tile.rows.len * tile.width => next.src,
            _ => return bytes.cast_signed(),
        };
        (after.addr().wrapping_sub(tile.src.addr()).wrapping_sub(self.src)).cast_signed()
    }

    /// Asks for the lines that rows have `bytes` bytes after their first: a line that is written in
    /// part is read before.
    #[inline(always)]
    pub(super) fn prefetch<V: Vector>(&self, bytes: usize) {
        for row in 0..self.count {
            // SAFETY: there is such a row.
            let (base, over) = unsafe { self.dst(row) };
            V::prefetch(base.wrapping_add(over + bytes));
        }
    }
}

/// A strip of columns that are gone through together, row by row.
pub(super) struct Strip {
    /// The number of columns of the tile before it.
    pub(super) done: usize,
    /// Where the first row of each column is read.
    pub(super) srcs: [MaybeUninit<*const u8>; MOST_STRIP_COLS],
    /// Where the source is asked for meanwhile.
    pub(super) aheads: [MaybeUninit<*const u8>; MOST_STRIP_COLS],
    /// Where columns are copied before, if they are.
    pub(super) bundles: Option<Bundles>,
    src: *const u8,
    /// The columns of later strips.
    next: Cursor,
    ahead: Ahead,
    /// Whether all columns fall into the same sets of the caches.
    aliasing: bool,
}

impl Strip {
    /// Before the first strip of some rows of a tile.
    #[inline(always)]
    pub(super) fn of(tile: &Tile, rows: &Rows, width: usize, bundles: Option<Bundles>) -> Strip {
        let short = BYTES_AHEAD / (rows.count * width);
        let cols_ahead = COLS_AHEAD.max(strip_cols(width)).max(short);
        Strip {
            done: 0,
            srcs: [MaybeUninit::uninit(); MOST_STRIP_COLS],
            aheads: [MaybeUninit::uninit(); MOST_STRIP_COLS],
            bundles,
            src: tile.src.wrapping_add(rows.src),
            next: Cursor::of_cols(tile),
            ahead: Ahead::of(tile, cols_ahead, rows),
            aliasing: aliasing(tile),
        }
    }

    /// How many columns of whole lines strips have.
    #[inline(always)]
    pub(super) fn cols(&self, width: usize) -> usize {
        match &self.bundles {
            Some(bundles) => bundles.strip_cols(width),
            None => strip_cols(width),
        }
    }

    /// Goes to the columns from `done` on, `count` of them. If they are bundled, the bundle after them
    /// has `coming` columns and is made while `squares` squares of this one are transposed.
    ///
    /// # Safety
    /// As [`Bundles::turn`].
    #[inline(always)]
    pub(super) unsafe fn turn<V: Vector, const W: usize>(
        &mut self,
        done: usize,
        count: usize,
        coming: usize,
        squares: usize,
    ) {
        self.done = done;
        let padded = (count + LINE / W).min(MOST_STRIP_COLS);
        if let Some(bundles) = &mut self.bundles {
            // SAFETY: the contract is the same.
            unsafe { bundles.turn::<V>(coming, squares) };
            for col in 0..padded {
                // What is bundled is near, and its next line may be nearer.
                self.srcs[col].write(bundles.col(col));
                self.aheads[col].write(bundles.col(col).wrapping_add(LINE));
            }
            return;
        }
        // Lines that lack columns have the last in their place.
        let mut src = self.src;
        for col in 0..padded {
            if col < count {
                src = self.src.wrapping_offset(self.next.next());
            }
            self.srcs[col].write(src);
            let ahead = if self.aliasing {
                src.wrapping_add((LINES_AHEAD - 1) * LINE)
            } else if col < count {
                self.src.wrapping_offset(self.ahead.next())
            } else {
                src
            };
            self.aheads[col].write(ahead);
        }
    }
}
