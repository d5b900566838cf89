//! Panels: columns that a transpose moves together.

use core::mem::MaybeUninit;

use super::cursor::{Cursor, Lookahead};
use super::packed_panel::{MOST_PACKED_COLS, PackedPanels};
use super::row_block::RowBlock;
use crate::simd::{LINE, Token, Vector};
use crate::tile::Tile;

/// The maximum number of columns in a panel, including an incomplete first and last line.
const MOST_PANEL_COLS: usize = MOST_PACKED_COLS + 2 * LINE;

/// The prefetch distance within a column, in lines, if all columns map to the same sets of the caches.
const LINES_AHEAD: usize = 4;

/// Columns whose distance is a multiple of this map to the same sets of a first-level cache.
const ALIASING_BYTES: isize = 4096;

/// Returns the number of columns in a panel that is not packed.
fn panel_cols(tile: &Tile) -> usize {
    // Elements of one byte always have two lines of a row together.
    let together = tile.tuning.lines_together.of(are_aligned(tile), tile.rows.len * tile.width);
    let lines = if tile.width == 1 { 2 } else { together };
    lines * LINE / tile.width
}

/// Returns whether lines of the destination begin at the same columns in every row.
pub(crate) fn are_aligned(tile: &Tile) -> bool {
    tile.rows.dst_stride.unsigned_abs().is_multiple_of(LINE) && tile.row_jumps.is_multiple_of(LINE)
}

/// Returns whether the columns map to the same sets of the caches. Prefetched later columns would then be evicted
/// before they are read.
fn aliasing(tile: &Tile) -> bool {
    tile.cols.src_stride % ALIASING_BYTES == 0
}

pub(crate) struct Panel<V> {
    pub(crate) token: Token<V>,
    /// The number of columns of the tile before this panel.
    pub(crate) done: usize,
    /// The source of the first row, for each column.
    pub(crate) srcs: [MaybeUninit<*const u8>; MOST_PANEL_COLS],
    /// The address to prefetch, for each column.
    pub(crate) aheads: [MaybeUninit<*const u8>; MOST_PANEL_COLS],
    pub(crate) packed: Option<PackedPanels>,
    src: *const u8,
    /// The number of columns in whole lines of a panel that is not packed.
    cols: usize,
    next: Cursor,
    ahead: Lookahead,
    aliasing: bool,
}

impl<V: Vector> Panel<V> {
    #[inline(always)]
    pub(crate) fn of(
        token: Token<V>,
        tile: &Tile,
        rows: &RowBlock,
        packed: Option<PackedPanels>,
    ) -> Panel<V> {
        // The hardware prefetcher does not predict short columns, nor columns that jump.
        let short = tile.tuning.column_bytes_ahead / (rows.count * tile.width);
        let cols_ahead = tile.tuning.columns_ahead.max(panel_cols(tile)).max(short);
        Panel {
            token,
            done: 0,
            srcs: [MaybeUninit::uninit(); MOST_PANEL_COLS],
            aheads: [MaybeUninit::uninit(); MOST_PANEL_COLS],
            packed,
            src: tile.src.wrapping_add(rows.src),
            cols: panel_cols(tile),
            next: Cursor::of_cols(tile),
            ahead: Lookahead::of(tile, cols_ahead, rows),
            aliasing: aliasing(tile),
        }
    }

    /// Returns the number of columns in whole lines of a panel.
    #[inline(always)]
    pub(crate) fn cols(&self, width: usize) -> usize {
        match &self.packed {
            Some(packed) => packed.panel_cols(width),
            None => self.cols,
        }
    }

    /// Advances to the `count` columns from `done` on. If columns are packed, the next panel has `coming` columns, and
    /// is packed while `micro_tiles` micro-tiles of this one are transposed.
    ///
    /// # Safety
    /// As [`PackedPanels::advance`].
    #[inline(always)]
    pub(crate) unsafe fn advance<const W: usize, const LEVEL: u8>(
        &mut self,
        done: usize,
        count: usize,
        coming: usize,
        micro_tiles: usize,
    ) {
        self.done = done;
        let padded = (count + LINE / W).min(MOST_PANEL_COLS);
        if let Some(packed) = &mut self.packed {
            // SAFETY: the caller upholds `# Safety`: all elements are valid.
            unsafe { packed.advance::<V, LEVEL>(self.token, coming, micro_tiles) };
            for col in 0..padded {
                // The prefetch loads the next line of a packed column into the first-level cache.
                self.srcs[col].write(packed.col(col));
                self.aheads[col].write(packed.col(col).wrapping_add(LINE));
            }
            return;
        }
        self.next.fill(self.src, &mut self.srcs[..count]);
        if self.aliasing {
            for (src, ahead) in self.srcs[..count].iter().zip(&mut self.aheads) {
                // SAFETY: the item has been written.
                let src = unsafe { src.assume_init() };
                ahead.write(src.wrapping_add((LINES_AHEAD - 1) * LINE));
            }
        } else {
            self.ahead.fill(self.src, &mut self.aheads[..count]);
        }
        // A line with too few columns repeats the last one.
        let last = self.srcs[count - 1];
        self.srcs[count..padded].fill(last);
        self.aheads[count..padded].fill(last);
    }
}
