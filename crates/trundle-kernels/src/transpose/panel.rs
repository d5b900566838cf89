//! Panels: columns that a transpose goes through together.

use std::mem::MaybeUninit;

use super::cursor::{Cursor, Lookahead};
use super::packed_panel::{MOST_PACKED_COLS, PackedPanels};
use super::row_block::RowBlock;
use crate::simd::{LINE, Token, Vector};
use crate::tile::Tile;

/// The most columns of a panel, with those of a first and of a last line.
const MOST_PANEL_COLS: usize = MOST_PACKED_COLS + 2 * LINE;

/// How many lines ahead in the same column instead, where all columns fall into the same sets.
const LINES_AHEAD: usize = 4;

/// Columns that are a multiple of this apart fall into the same sets of a first-level cache.
const ALIASING_BYTES: isize = 4096;

/// How many columns are gone through together, row by row, where they are not packed.
fn panel_cols(tile: &Tile) -> usize {
    // Of bytes, so many that a row gets two lines at once.
    let together = tile.tuning.lines_together.of(are_aligned(tile), tile.rows.len * tile.width);
    let lines = if tile.width == 1 { 2 } else { together };
    lines * LINE / tile.width
}

/// Whether lines of the destination begin at the same columns in every row.
pub(crate) fn are_aligned(tile: &Tile) -> bool {
    tile.rows.dst_stride.unsigned_abs().is_multiple_of(LINE) && tile.row_jumps.is_multiple_of(LINE)
}

/// Whether the columns fall into the same sets of the caches: what is prefetched in later columns
/// is gone again before it is read.
fn aliasing(tile: &Tile) -> bool {
    tile.cols.src_stride % ALIASING_BYTES == 0
}

/// A panel of columns that are gone through together, row by row.
pub(crate) struct Panel<V> {
    pub(crate) token: Token<V>,
    /// The number of columns of the tile before it.
    pub(crate) done: usize,
    /// Where the first row of each column is read.
    pub(crate) srcs: [MaybeUninit<*const u8>; MOST_PANEL_COLS],
    /// What is prefetched meanwhile.
    pub(crate) aheads: [MaybeUninit<*const u8>; MOST_PANEL_COLS],
    /// Where columns are copied before, if they are.
    pub(crate) packed: Option<PackedPanels>,
    src: *const u8,
    /// How many columns of whole lines a panel has that is not packed.
    cols: usize,
    /// The columns of later panels.
    next: Cursor,
    ahead: Lookahead,
    /// Whether all columns fall into the same sets of the caches.
    aliasing: bool,
}

impl<V: Vector> Panel<V> {
    /// Before the first panel of some rows of a tile.
    #[inline(always)]
    pub(crate) fn of(
        token: Token<V>,
        tile: &Tile,
        rows: &RowBlock,
        packed: Option<PackedPanels>,
    ) -> Panel<V> {
        // The hardware prefetcher does not predict short runs that are a row apart, nor where columns
        // jump.
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

    /// How many columns of whole lines panels have.
    #[inline(always)]
    pub(crate) fn cols(&self, width: usize) -> usize {
        match &self.packed {
            Some(packed) => packed.panel_cols(width),
            None => self.cols,
        }
    }

    /// Goes to the columns from `done` on, `count` of them. If they are packed, the packed panel
    /// after them has `coming` columns and is made while `micro-tiles` micro-tiles of this one are
    /// transposed.
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
                // What is packed is near, and its next line may be nearer.
                self.srcs[col].write(packed.col(col));
                self.aheads[col].write(packed.col(col).wrapping_add(LINE));
            }
            return;
        }
        self.next.fill(self.src, &mut self.srcs[..count]);
        if self.aliasing {
            for (src, ahead) in self.srcs[..count].iter().zip(&mut self.aheads) {
                // SAFETY: the place has been written.
                let src = unsafe { src.assume_init() };
                ahead.write(src.wrapping_add((LINES_AHEAD - 1) * LINE));
            }
        } else {
            self.ahead.fill(self.src, &mut self.aheads[..count]);
        }
        // Lines that lack columns have the last in their place.
        let last = self.srcs[count - 1];
        self.srcs[count..padded].fill(last);
        self.aheads[count..padded].fill(last);
    }
}
