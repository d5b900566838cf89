//! Packed panels: groups of columns that are copied to a buffer before they are transposed.
//!
//! Columns whose distance in the source is a power of two map to a few sets of the caches and evict each other. Also,
//! memory is slow if reads are short and far apart. So a panel of columns is first copied, column by column, to a
//! contiguous buffer in a second-level cache. While one packed panel is transposed, the next one is packed, a few
//! columns with each micro-tile.

use super::cursor::{Cursor, Lookahead};
use super::row_block::RowBlock;
use crate::jumps::Jumps;
use crate::parts::line::Line;
use crate::parts::scratch::{COPIED_BYTES, scratch};
use crate::simd::{LINE, Token, Vector};
use crate::tile::Tile;

/// The length of a panel along each row of the destination, in bytes.
const PANEL_ROW_BYTES: usize = 512;

/// The size of a packed panel in bytes: two of them fill half of a second-level cache.
const PACKED_PANEL_BYTES: usize = 256 << 10;

const _: () = assert!(2 * PACKED_PANEL_BYTES <= COPIED_BYTES);

/// The maximum number of columns in a panel, without the columns of an incomplete first and last line.
pub(crate) const MOST_PACKED_COLS: usize = 256;

/// Prefetch distance for the source, in columns.
const COLS_AHEAD: usize = 8;

/// Shorter columns and rows, in bytes, are not packed.
const LEAST_COL_BYTES: usize = 256;
const LEAST_ROW_BYTES: usize = 1024;

/// Longer rows of elements of 1 and 2 bytes are packed only if the columns alias. The same holds for wider elements,
/// and if columns jump.
const LONG_ROW_BYTES: usize = 4096;

/// Columns whose distance is a multiple of this map to few sets of a first-level cache, for elements of 1 and 2 bytes
/// and for wider ones (measured; docs/notes/kernels.md).
const NARROW_ALIASING_BYTES: isize = 512;
const ALIASING_BYTES: isize = 4096;

/// Returns whether columns with this source stride map to so few sets of the caches that they evict each other.
pub(crate) fn are_aliasing(width: usize, src_stride: isize) -> bool {
    src_stride % if width <= 2 { NARROW_ALIASING_BYTES } else { ALIASING_BYTES } == 0
}

fn is_packed(tile: &Tile, rows: &RowBlock) -> bool {
    let (width, col_bytes) = (tile.width, tile.cols.len * tile.width);
    let short = width <= 2 && tile.col_jumps == Jumps::NONE && col_bytes < LONG_ROW_BYTES;
    tile.tuning.packed.has(width)
        && (short || are_aliasing(width, tile.cols.src_stride))
        && (LEAST_ROW_BYTES..).contains(&col_bytes)
        && rows.count * width >= LEAST_COL_BYTES
}

/// Two packed panels: one that is being packed, and one that is being transposed.
pub(crate) struct PackedPanels {
    /// The source of the first row in column 0.
    src: *const u8,
    /// The size of a column, and the distance between packed columns, in bytes.
    bytes: usize,
    pitch: usize,
    /// The panel that is being packed, and the panel that is being transposed.
    to: *mut u8,
    from: *mut u8,
    /// The next columns to pack and to prefetch.
    next: Cursor,
    ahead: Lookahead,
    /// The number of columns in the panel that is being packed, and of packed ones.
    cols: usize,
    there: usize,
    /// The number of micro-tiles with which a panel is packed, and the columns that are due, in units of
    /// 1/`micro_tiles`.
    micro_tiles: usize,
    due: usize,
}

impl PackedPanels {
    /// Returns the state before the first panel, or `None` if these rows are not packed.
    #[inline(always)]
    pub(crate) fn of(tile: &Tile, rows: &RowBlock, width: usize) -> Option<PackedPanels> {
        if !is_packed(tile, rows) {
            return None;
        }
        // SAFETY: this thread moves one tile at a time, so nothing else uses the scratch.
        let copies = unsafe { scratch() }?.copies;
        let bytes = rows.count * width;
        Some(PackedPanels {
            src: tile.src.wrapping_add(rows.src),
            bytes,
            // An odd number of lines, so that adjacent columns are in different sets.
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

    pub(crate) fn panel_cols(&self, width: usize) -> usize {
        let each = LINE / width;
        let most = PACKED_PANEL_BYTES / self.pitch / each * each;
        (PANEL_ROW_BYTES / width).min(MOST_PACKED_COLS).min(most.saturating_sub(2 * each))
    }

    /// Packs the rest of a panel, which is transposed next, and begins another one of `cols` columns, which is packed
    /// while `micro_tiles` micro-tiles are transposed.
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

    #[inline(always)]
    pub(crate) fn col(&self, index: usize) -> *const u8 {
        self.from.wrapping_add(index * self.pitch)
    }

    /// Packs the columns that are due with one micro-tile.
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
            // SAFETY: the column is valid for reads, and the scratch has space for it.
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
