//! Packed panels: columns copied next to each other before they are transposed.
//!
//! Columns that are a power of two apart in the source map to a few sets of the caches and evict each other, and
//! memory serves short distant runs slowly. A panel of columns is therefore first copied, run by run, into a
//! contiguous buffer in a second-level cache. While the micro-tiles of one packed panel are transposed, the next
//! panel is packed, a few runs with each micro-tile.

use super::cursor::{Cursor, Lookahead};
use super::row_block::RowBlock;
use crate::jumps::Jumps;
use crate::parts::line::Line;
use crate::parts::scratch::{COPIED_BYTES, scratch};
use crate::simd::{LINE, Token, Vector};
use crate::tile::Tile;

/// The length of a panel along each row of the destination, in bytes.
const PANEL_ROW_BYTES: usize = 512;

/// The bytes of a packed panel: two of them fill half a second-level cache.
const PACKED_PANEL_BYTES: usize = 256 << 10;

const _: () = assert!(2 * PACKED_PANEL_BYTES <= COPIED_BYTES);

/// The most columns of a panel, without the columns of a first and a last line.
pub(crate) const MOST_PACKED_COLS: usize = 256;

/// How many columns ahead the source is prefetched.
const COLS_AHEAD: usize = 8;

/// Shorter columns and rows are not packed.
const LEAST_COL_BYTES: usize = 256;
const LEAST_ROW_BYTES: usize = 1024;

/// Longer rows of elements of 1 and 2 bytes are packed only if the columns alias. The same holds if columns jump.
const LONG_ROW_BYTES: usize = 4096;

/// Columns that are a multiple of this apart map to few sets of a first-level cache, for elements of 1 and 2 bytes
/// and for wider ones (measured; docs/kernels.md).
const NARROW_ALIASING_BYTES: isize = 512;
const ALIASING_BYTES: isize = 4096;

/// Returns whether columns with this source stride map to too few sets of the caches to be read in place.
pub(crate) fn are_aliasing(width: usize, src_stride: isize) -> bool {
    src_stride % if width <= 2 { NARROW_ALIASING_BYTES } else { ALIASING_BYTES } == 0
}

/// Returns whether the columns of a tile are packed for these rows.
fn is_packed(tile: &Tile, rows: &RowBlock) -> bool {
    let (width, col_bytes) = (tile.width, tile.cols.len * tile.width);
    let short = width <= 2 && tile.col_jumps == Jumps::NONE && col_bytes < LONG_ROW_BYTES;
    tile.tuning.packed.has(width)
        && (short || are_aliasing(width, tile.cols.src_stride))
        && (LEAST_ROW_BYTES..).contains(&col_bytes)
        && rows.count * width >= LEAST_COL_BYTES
}

pub(crate) struct PackedPanels {
    /// The source of the first row of the columns.
    src: *const u8,
    /// The bytes of a column, and the distance between packed columns.
    bytes: usize,
    pitch: usize,
    /// The panel being packed, and the one being transposed.
    to: *mut u8,
    from: *mut u8,
    /// The next columns to pack and to prefetch.
    next: Cursor,
    ahead: Lookahead,
    /// The number of columns of the panel, and how many of them are packed.
    cols: usize,
    there: usize,
    /// The number of micro-tiles that share the packing of a panel, and the work due so far: columns times
    /// micro-tiles.
    micro_tiles: usize,
    due: usize,
}

impl PackedPanels {
    /// Returns the state before the first panel of some rows of a tile; `None` if they are not packed.
    #[inline(always)]
    pub(crate) fn of(tile: &Tile, rows: &RowBlock, width: usize) -> Option<PackedPanels> {
        if !is_packed(tile, rows) {
            return None;
        }
        // SAFETY: this thread moves one tile at a time, and has the scratch to itself.
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

    /// Returns the number of columns of a panel, without the columns of a first and a last line.
    pub(crate) fn panel_cols(&self, width: usize) -> usize {
        let each = LINE / width;
        let most = PACKED_PANEL_BYTES / self.pitch / each * each;
        (PANEL_ROW_BYTES / width).min(MOST_PACKED_COLS).min(most.saturating_sub(2 * each))
    }

    /// Packs the rest of a panel and begins the next one, which has `cols` columns and is packed while
    /// `micro_tiles` micro-tiles are transposed.
    ///
    /// # Safety
    /// The columns belong to the tile.
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

    /// Returns the address of a column of the panel being transposed.
    #[inline(always)]
    pub(crate) fn col(&self, index: usize) -> *const u8 {
        self.from.wrapping_add(index * self.pitch)
    }

    /// Packs the share of one micro-tile.
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

    /// Packs columns up to `end`.
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
            // SAFETY: the column is valid for reads, and the scratch has room for it.
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
