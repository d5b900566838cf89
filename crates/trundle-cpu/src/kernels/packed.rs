//! Columns copied side by side before they are transposed.
//!
//! Columns of the source that are a power of two apart fall into a few sets of the caches and drive
//! each other out, and short runs of memory that are far apart are served slowly. So a strip of
//! columns is copied first, run by run, to where they are neighbours in a second-level cache: while
//! the squares of one strip are transposed, the next is packed, a few runs with each square.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::cursor::{Ahead, Cursor};
use super::line::Line;
use super::strip::Rows;
use super::{Fold, Tile};
use crate::simd::{LINE, Vector};

/// How much of each row of the destination a strip makes, in bytes.
const STRIP_BYTES: usize = 512;

/// The bytes of a strip: two of them fill half a second-level cache.
const PACKED_BYTES: usize = 256 << 10;

/// The most columns of a strip, beside those of a first and of a last line.
pub(super) const MOST_PACKED_COLS: usize = 256;

/// How many columns ahead the source is asked for.
const COLS_AHEAD: usize = 8;

/// Shorter columns and rows are not packed.
const LEAST_COL_BYTES: usize = 256;
const LEAST_ROW_BYTES: usize = 1024;

/// Longer rows are packed only where the columns alias, as are those whose columns jump.
const LONG_ROW_BYTES: usize = 4096;

/// Columns that are a multiple of this apart fall into few sets of a first-level cache.
const ALIASING_BYTES: isize = 512;

/// Whether rows of a tile are packed.
fn is_packed(tile: &Tile, rows: &Rows) -> bool {
    let col_bytes = tile.cols.len * tile.width;
    let aliasing = tile.cols.src_stride % ALIASING_BYTES == 0;
    let helped = aliasing || (tile.col_fold == Fold::NONE && col_bytes < LONG_ROW_BYTES);
    helped && (LEAST_ROW_BYTES..).contains(&col_bytes) && rows.count * tile.width >= LEAST_COL_BYTES
}

/// Two strips: one that is transposed, and one that is packed.
type Scratch = [Packed; 2];

#[repr(align(64))]
struct Packed {
    _bytes: [MaybeUninit<u8>; PACKED_BYTES],
}

/// This thread's scratch, which is made when it is first asked for; none while the thread ends.
fn scratch() -> Option<*mut Scratch> {
    thread_local! {
        static SCRATCH: UnsafeCell<Option<Box<Scratch>>> = const { UnsafeCell::new(None) };
    }
    let of_cell = |cell: &UnsafeCell<Option<Box<Scratch>>>| {
        // SAFETY: the cell is this thread's own, and nothing refers into it but within this
        // closure, which calls nothing that comes back here.
        let scratch = unsafe { &mut *cell.get() };
        // SAFETY: zeroes are values of every byte.
        let scratch = scratch.get_or_insert_with(|| unsafe { Box::new_zeroed().assume_init() });
        std::ptr::from_mut::<Scratch>(scratch)
    };
    SCRATCH.try_with(of_cell).ok()
}

/// Strips of columns on their way into the scratch.
pub(super) struct Packing {
    /// Where the first row of the columns is read.
    src: *const u8,
    /// The bytes of a column, and the distance of packed columns.
    bytes: usize,
    pitch: usize,
    /// The strip that is packed, and the one that is transposed.
    to: *mut u8,
    from: *mut u8,
    /// The columns that are packed next, and those that are asked for meanwhile.
    next: Cursor,
    ahead: Ahead,
    /// How many columns the strip has, and how many of them are packed.
    cols: usize,
    packed: usize,
    /// The squares that share the packing of a strip, and what is due so far: columns times squares.
    squares: usize,
    due: usize,
}

impl Packing {
    /// Before the first strip of some rows of a tile; none if they are not to be packed.
    #[inline(always)]
    pub(super) fn of(tile: &Tile, rows: &Rows, width: usize) -> Option<Packing> {
        if !is_packed(tile, rows) {
            return None;
        }
        let scratch: *mut u8 = scratch()?.cast();
        let bytes = rows.count * width;
        Some(Packing {
            src: tile.src.wrapping_add(rows.src),
            bytes,
            // An odd number of lines: the same line of neighbouring columns is in different sets.
            pitch: (bytes.div_ceil(LINE) | 1) * LINE,
            to: scratch,
            from: scratch.wrapping_add(PACKED_BYTES),
            next: Cursor::of_cols(tile),
            ahead: Ahead::of(tile, COLS_AHEAD, rows),
            cols: 0,
            packed: 0,
            squares: 1,
            due: 0,
        })
    }

    /// How many columns of whole lines a strip has beside those of a first and of a last line.
    pub(super) fn strip_cols(&self, width: usize) -> usize {
        let each = LINE / width;
        let most = PACKED_BYTES / self.pitch / each * each;
        (STRIP_BYTES / width).min(MOST_PACKED_COLS).min(most.saturating_sub(2 * each))
    }

    /// Packs what is left of a strip, and goes on to the next, which has `cols` columns and is packed
    /// while `squares` squares are transposed.
    ///
    /// # Safety
    /// The machine has the set of V; the columns are columns of the tile.
    #[inline(always)]
    pub(super) unsafe fn turn<V: Vector>(&mut self, cols: usize, squares: usize) {
        // SAFETY: the contract is the same.
        unsafe { self.pack::<V>(self.cols) };
        (self.from, self.to) = (self.to, self.from);
        (self.cols, self.packed) = (cols, 0);
        (self.squares, self.due) = (squares, 0);
    }

    /// Where a column of the strip is that is transposed.
    #[inline(always)]
    pub(super) fn col(&self, number: usize) -> *const u8 {
        self.from.wrapping_add(number * self.pitch)
    }

    /// Packs what falls to one square.
    ///
    /// # Safety
    /// As [`Packing::turn`].
    #[inline(always)]
    pub(super) unsafe fn pack_some<V: Vector>(&mut self) {
        self.due += self.cols;
        while self.due >= self.squares && self.packed < self.cols {
            self.due -= self.squares;
            // SAFETY: the contract is the same.
            unsafe { self.pack::<V>(self.packed + 1) };
        }
    }

    /// Packs columns up to `end`.
    ///
    /// # Safety
    /// As [`Packing::turn`].
    #[inline(always)]
    unsafe fn pack<V: Vector>(&mut self, end: usize) {
        while self.packed < end {
            let src = self.src.wrapping_offset(self.next.next());
            let ahead = self.src.wrapping_offset(self.ahead.next());
            let to = self.to.wrapping_add(self.packed * self.pitch);
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
            self.packed += 1;
        }
    }
}
