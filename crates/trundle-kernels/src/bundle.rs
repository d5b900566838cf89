//! Bundles: columns copied side by side before they are transposed.
//!
//! Columns of the source that are a power of two apart fall into a few sets of the caches and drive
//! each other out, and short runs of memory that are far apart are served slowly. So a strip of
//! columns is copied first, run by run, to where they are neighbours in a second-level cache: while
//! the squares of one bundle are transposed, the next is made, a few runs with each square.

use super::cursor::{Ahead, Cursor};
use super::line::Line;
use super::scratch::{COPIED_BYTES, scratch};
use super::strip::Rows;
use super::{Fold, Tile};
use crate::simd::{LINE, Vector};

/// How much of each row of the destination a strip makes, in bytes.
const STRIP_BYTES: usize = 512;

/// The bytes of a bundle: two of them fill half a second-level cache.
const BUNDLE_BYTES: usize = 256 << 10;

const _: () = assert!(2 * BUNDLE_BYTES <= COPIED_BYTES);

/// The most columns of a strip, beside those of a first and of a last line.
pub(super) const MOST_BUNDLED_COLS: usize = 256;

/// How many columns ahead the source is asked for.
const COLS_AHEAD: usize = 8;

/// Shorter columns and rows are not bundled.
const LEAST_COL_BYTES: usize = 256;
const LEAST_ROW_BYTES: usize = 1024;

/// Longer rows are bundled only where the columns alias, as are those whose columns jump.
const LONG_ROW_BYTES: usize = 4096;

/// Columns that are a multiple of this apart fall into few sets of a first-level cache.
const ALIASING_BYTES: isize = 512;

/// Whether the columns of a tile are bundled for some of its rows.
fn is_bundled(tile: &Tile, rows: &Rows) -> bool {
    let col_bytes = tile.cols.len * tile.width;
    let aliasing = tile.cols.src_stride % ALIASING_BYTES == 0;
    let helped = aliasing || (tile.col_fold == Fold::NONE && col_bytes < LONG_ROW_BYTES);
    helped && (LEAST_ROW_BYTES..).contains(&col_bytes) && rows.count * tile.width >= LEAST_COL_BYTES
}

/// Two bundles: one that is transposed, and one that is made.
pub(super) struct Bundles {
    /// Where the first row of the columns is read.
    src: *const u8,
    /// The bytes of a column, and the distance of bundled columns.
    bytes: usize,
    pitch: usize,
    /// The bundle that is made, and the one that is transposed.
    to: *mut u8,
    from: *mut u8,
    /// The columns that come next, and those that are asked for meanwhile.
    next: Cursor,
    ahead: Ahead,
    /// How many columns the bundle has, and how many of them are there.
    cols: usize,
    there: usize,
    /// The squares that share the making of a bundle, and what is due so far: columns times squares.
    squares: usize,
    due: usize,
}

impl Bundles {
    /// Before the first strip of some rows of a tile; none if they are not to be bundled.
    #[inline(always)]
    pub(super) fn of(tile: &Tile, rows: &Rows, width: usize) -> Option<Bundles> {
        if !is_bundled(tile, rows) {
            return None;
        }
        // SAFETY: this thread moves one tile at a time, and nobody else has its scratch.
        let copies = unsafe { scratch() }?.copies;
        let bytes = rows.count * width;
        Some(Bundles {
            src: tile.src.wrapping_add(rows.src),
            bytes,
            // An odd number of lines: the same line of neighbouring columns is in different sets.
            pitch: (bytes.div_ceil(LINE) | 1) * LINE,
            to: copies,
            from: copies.wrapping_add(BUNDLE_BYTES),
            next: Cursor::of_cols(tile),
            ahead: Ahead::of(tile, COLS_AHEAD, rows),
            cols: 0,
            there: 0,
            squares: 1,
            due: 0,
        })
    }

    /// How many columns of whole lines a strip has beside those of a first and of a last line.
    pub(super) fn strip_cols(&self, width: usize) -> usize {
        let each = LINE / width;
        let most = BUNDLE_BYTES / self.pitch / each * each;
        (STRIP_BYTES / width).min(MOST_BUNDLED_COLS).min(most.saturating_sub(2 * each))
    }

    /// Copies what is left of a bundle, and goes on to the next, which has `cols` columns and is made
    /// while `squares` squares are transposed.
    ///
    /// # Safety
    /// The machine has the set of V; the columns are columns of the tile.
    #[inline(always)]
    pub(super) unsafe fn turn<V: Vector>(&mut self, cols: usize, squares: usize) {
        // SAFETY: the contract is the same.
        unsafe { self.copy::<V>(self.cols) };
        (self.from, self.to) = (self.to, self.from);
        (self.cols, self.there) = (cols, 0);
        (self.squares, self.due) = (squares, 0);
    }

    /// Where a column of the bundle is that is transposed.
    #[inline(always)]
    pub(super) fn col(&self, number: usize) -> *const u8 {
        self.from.wrapping_add(number * self.pitch)
    }

    /// Copies what falls to one square.
    ///
    /// # Safety
    /// As [`Bundles::turn`].
    #[inline(always)]
    pub(super) unsafe fn copy_some<V: Vector>(&mut self) {
        self.due += self.cols;
        while self.due >= self.squares && self.there < self.cols {
            self.due -= self.squares;
            // SAFETY: the contract is the same.
            unsafe { self.copy::<V>(self.there + 1) };
        }
    }

    /// Copies columns up to `end`.
    ///
    /// # Safety
    /// As [`Bundles::turn`].
    #[inline(always)]
    unsafe fn copy<V: Vector>(&mut self, end: usize) {
        while self.there < end {
            let src = self.src.wrapping_offset(self.next.next());
            let ahead = self.src.wrapping_offset(self.ahead.next());
            let to = self.to.wrapping_add(self.there * self.pitch);
            V::prefetch(ahead);
            let whole = self.bytes / LINE * LINE;
            // SAFETY: the column is valid for reads, the scratch has room for it.
            unsafe {
                for at in (0..whole).step_by(LINE) {
                    V::prefetch(ahead.wrapping_add(at + LINE - 1));
                    Line::<V>::load(src.add(at)).store(to.add(at));
                }
                if whole < self.bytes {
                    V::prefetch(ahead.wrapping_add(self.bytes - 1));
                    let rest = self.bytes - whole;
                    Line::<V>::load_first(src.add(whole), rest).store(to.add(whole));
                }
            }
            self.there += 1;
        }
    }
}
