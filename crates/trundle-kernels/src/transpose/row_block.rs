//! Rows that a transpose moves together.

use std::mem::MaybeUninit;

use crate::tile::{Tile, prefetch_partial};

/// The most rows that are moved together: their carry buffers stay in the caches.
pub(crate) const MOST_ROWS: usize = 512;

pub(crate) struct RowBlock {
    pub(crate) count: usize,
    /// The source of the first row, in bytes from the tile's first row.
    pub(crate) src: usize,
    /// For each row, the address of its first line, and the number of bytes of that line before the row.
    pub(crate) dsts: [MaybeUninit<(*mut u8, usize)>; MOST_ROWS],
}

impl RowBlock {
    /// Returns the address of a row's first line, and the number of bytes of that line before the row.
    ///
    /// # Safety
    /// `row` is below `count`.
    #[inline(always)]
    pub(crate) unsafe fn dst(&self, row: usize) -> (*mut u8, usize) {
        // SAFETY: the destinations of all rows are written.
        unsafe { self.dsts.get_unchecked(row).assume_init() }
    }

    /// Returns the source of the next rows, of this tile or the next, in bytes from the first row of this
    /// block.
    #[inline(always)]
    pub(crate) fn next(&self, tile: &Tile) -> isize {
        let bytes = self.count * tile.width;
        let after = match tile.next {
            Some(next) if self.src + bytes == tile.rows.len * tile.width => next.src,
            _ => return bytes.cast_signed(),
        };
        (after.addr().wrapping_sub(tile.src.addr()).wrapping_sub(self.src)).cast_signed()
    }

    /// Prefetches the line `bytes` bytes after the start of each row if the row begins or ends within it: a line
    /// that is written partially is read first.
    #[inline(always)]
    pub(crate) fn prefetch_partial(&self, bytes: usize) {
        for row in 0..self.count {
            // SAFETY: `row` is below `count`.
            let (base, over) = unsafe { self.dst(row) };
            prefetch_partial(base.wrapping_add(over + bytes));
        }
    }
}
