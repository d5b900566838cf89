//! Packed panels: columns copied side by side before they are transposed.
//!
//! Columns of the source that are a power of two apart fall into a few sets of the caches and drive
//! each other out, and short runs of memory that are far apart are served slowly. So a panel of
//! columns is copied first, run by run, to where they are neighbours in a second-level cache: while
//! the micro-tiles of one packed panel are transposed, the next is made, a few runs with each
//! micro-tile.

use super::cursor::{Cursor, Lookahead};
use super::row_block::RowBlock;
use crate::jumps::Jumps;
use crate::parts::line::Line;
use crate::parts::scratch::{COPIED_BYTES, scratch};
use crate::simd::{LINE, Token, Vector};
use crate::tile::Tile;

/// How much of each row of the destination a panel makes, in bytes.
const PANEL_ROW_BYTES: usize = 512;

/// The bytes of a packed panel: two of them fill half a second-level cache.
const PACKED_PANEL_BYTES: usize = 256 << 10;

const _: () = assert!(2 * PACKED_PANEL_BYTES <= COPIED_BYTES);

/// The most columns of a panel, beside those of a first and of a last line.
pub(crate) const MOST_PACKED_COLS: usize = 256;

/// How many columns ahead the source is prefetched.
const COLS_AHEAD: usize = 8;

/// Shorter columns and rows are not packed.
const LEAST_COL_BYTES: usize = 256;
const LEAST_ROW_BYTES: usize = 1024;

/// Longer rows of bytes, and of elements of 2, are packed only where the columns alias, as are those whose
/// columns jump.
const LONG_ROW_BYTES: usize = 4096;

/// Columns that are a multiple of this apart fall into few sets of a first-level cache: of elements of 1
/// and 2 bytes, and of wider ones (measured; docs/kernels.md).
const NARROW_ALIASING_BYTES: isize = 512;
const ALIASING_BYTES: isize = 4096;

/// Whether columns so far apart in the source fall into too few sets of the caches to be read as they are.
pub(crate) fn are_aliasing(width: usize, src_stride: isize) -> bool {
    src_stride % if width <= 2 { NARROW_ALIASING_BYTES } else { ALIASING_BYTES } == 0
}

/// Whether the columns of a tile are packed for some of its rows.
fn is_packed(tile: &Tile, rows: &RowBlock) -> bool {
    let (width, col_bytes) = (tile.width, tile.cols.len * tile.width);
    let short = width <= 2 && tile.col_jumps == Jumps::NONE && col_bytes < LONG_ROW_BYTES;
    tile.tuning.packed.has(width)
        && (short || are_aliasing(width, tile.cols.src_stride))
        && (LEAST_ROW_BYTES..).contains(&col_bytes)
        && rows.count * width >= LEAST_COL_BYTES
}

/// Two packed panels: one that is transposed, and one that is made.
pub(crate) struct PackedPanels {
    /// Where the first row of the columns is read.
    src: *const u8,
    /// The bytes of a column, and the distance of packed columns.
    bytes: usize,
    pitch: usize,
    /// The packed panel that is made, and the one that is transposed.
    to: *mut u8,
    from: *mut u8,
    /// The columns that come next, and those that are prefetched meanwhile.
    next: Cursor,
    ahead: Lookahead,
    /// How many columns the packed panel has, and how many of them are there.
    cols: usize,
    there: usize,
    /// The micro-tiles that share the making of a packed panel, and what is due so far: columns
    /// times micro-tiles.
    micro_tiles: usize,
    due: usize,
}

impl PackedPanels {
    /// Before the first panel of some rows of a tile; none if they are not to be packed.
    #[inline(always)]
    pub(crate) fn of(tile: &Tile, rows: &RowBlock, width: usize) -> Option<PackedPanels> {
        if !is_packed(tile, rows) {
            return None;
        }
        // SAFETY: this thread moves one tile at a time, and nobody else has its scratch.
        let copies = unsafe { scratch() }?.copies;
        let bytes = rows.count * width;
        Some(PackedPanels {
            src: tile.src.wrapping_add(rows.src),
            bytes,
            // An odd number of lines: the same line of neighbouring columns is in different sets.
            pitch: (bytes.div_ceil(LINE) | 1) * LINE,
            to: copies,
            from: copies.wrapping_add(PACKED_PANEL_BYTES),
            next: Cursor::of_cols(tile),
            ahead: Lookahead::of(tile, COLS_AHEAD, rows),
            cols: 0,
            there: 0,
            micro_tiles: 1,
            due: 0,
        })
    }

    /// How many columns of whole lines a panel has beside those of a first and of a last line.
    pub(crate) fn panel_cols(&self, width: usize) -> usize {
        let each = LINE / width;
        let most = PACKED_PANEL_BYTES / self.pitch / each * each;
        (PANEL_ROW_BYTES / width).min(MOST_PACKED_COLS).min(most.saturating_sub(2 * each))
    }

    /// Copies what is left of a packed panel, and goes on to the next, which has `cols` columns and
    /// is made while `micro-tiles` micro-tiles are transposed.
    ///
    /// # Safety
    /// The columns are columns of the tile.
    #[inline(always)]
    pub(crate) unsafe fn advance<V: Vector, const LEVEL: u8>(
        &mut self,
        token: Token<V>,
        cols: usize,
        micro_tiles: usize,
    ) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        unsafe { self.copy::<V, LEVEL>(token, self.cols) };
        (self.from, self.to) = (self.to, self.from);
        (self.cols, self.there) = (cols, 0);
        (self.micro_tiles, self.due) = (micro_tiles, 0);
    }

    /// Where a column of the packed panel is that is transposed.
    #[inline(always)]
    pub(crate) fn col(&self, index: usize) -> *const u8 {
        self.from.wrapping_add(index * self.pitch)
    }

    /// Copies what falls to one micro-tile.
    ///
    /// # Safety
    /// As [`PackedPanels::advance`].
    #[inline(always)]
    pub(crate) unsafe fn pack_some<V: Vector, const LEVEL: u8>(&mut self, token: Token<V>) {
        self.due += self.cols;
        while self.due >= self.micro_tiles && self.there < self.cols {
            self.due -= self.micro_tiles;
            // SAFETY: the caller upholds `# Safety`: all elements are valid.
            unsafe { self.copy::<V, LEVEL>(token, self.there + 1) };
        }
    }

    /// Copies columns up to `end`.
    ///
    /// # Safety
    /// As [`PackedPanels::advance`].
    #[inline(always)]
    unsafe fn copy<V: Vector, const LEVEL: u8>(&mut self, token: Token<V>, end: usize) {
        while self.there < end {
            let src = self.src.wrapping_offset(self.next.next());
            let ahead = self.src.wrapping_offset(self.ahead.next());
            let to = self.to.wrapping_add(self.there * self.pitch);
            V::prefetch_into::<LEVEL>(ahead);
            let whole = self.bytes / LINE * LINE;
            // SAFETY: the column is valid for reads, the scratch has room for it.
            unsafe {
                for at in (0..whole).step_by(LINE) {
                    V::prefetch_into::<LEVEL>(ahead.wrapping_add(at + LINE - 1));
                    Line::load(token, src.add(at)).store(to.add(at));
                }
                if whole < self.bytes {
                    V::prefetch_into::<LEVEL>(ahead.wrapping_add(self.bytes - 1));
                    let rest = self.bytes - whole;
                    Line::load_first(token, src.add(whole), rest).store(to.add(whole));
                }
            }
            self.there += 1;
        }
    }
}
