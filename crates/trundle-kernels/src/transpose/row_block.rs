//! Rows that a transpose moves together.

use core::mem::MaybeUninit;

use crate::tile::{Tile, prefetch_partial};

/// The maximum number of rows that are moved together, whose carry buffers stay in the caches.
pub(crate) const MOST_ROWS: usize = 512;

pub(crate) struct RowBlock {
    pub(crate) count: usize,
    /// The source of the first row, in bytes from the first row of the tile.
    pub(crate) src: usize,
    /// For each row, the address of its first cache line, and the number of bytes of this line before the row.
    pub(crate) dsts: [MaybeUninit<(*mut u8, usize)>; MOST_ROWS],
}

impl RowBlock {
    /// Returns the address of a row's first cache line, and the number of bytes of this line before the row.
    ///
    /// # Safety
    /// `row` is less than `count`.
    #[inline(always)]
    pub(crate) unsafe fn dst(&self, row: usize) -> (*mut u8, usize) {
        // SAFETY: the items of all rows have been written.
        unsafe { self.dsts.get_unchecked(row).assume_init() }
    }

    /// Returns the source of the next rows, in this tile or the next one, in bytes from the first row of this block.
    #[inline(always)]
    pub(crate) fn next(&self, tile: &Tile) -> isize {
        let bytes = self.count * tile.width;
        let after = match tile.next {
            Some(next) if self.src + bytes == tile.rows.len * tile.width => next.src,
            _ => return bytes.cast_signed(),
        };
        (after.addr().wrapping_sub(tile.src.addr()).wrapping_sub(self.src)).cast_signed()
    }

    /// For each row, prefetches the line at `bytes` bytes after its start, if that is within a line. Lines that are
    /// written in part are read before the store.
    #[inline(always)]
    pub(crate) fn prefetch_partial(&self, bytes: usize) {
        for row in 0..self.count {
            // SAFETY: `row` is less than `count`.
            let (base, over) = unsafe { self.dst(row) };
            prefetch_partial(base.wrapping_add(over + bytes));
        }
    }
}
