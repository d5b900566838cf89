//! Rows that a transpose moves together.

use std::mem::MaybeUninit;

use crate::tile::{Tile, prefetch_partial};

/// The rows that are moved together: what they carry stays near.
pub(crate) const MOST_ROWS: usize = 512;

/// Rows that are moved together.
pub(crate) struct RowBlock {
    pub(crate) count: usize,
    /// Where the first is read, in bytes from the tile's first row.
    pub(crate) src: usize,
    /// Where the line begins that each begins in, and how many bytes of it are before the row.
    pub(crate) dsts: [MaybeUninit<(*mut u8, usize)>; MOST_ROWS],
}

impl RowBlock {
    /// Where the line begins that a row begins in, and how many bytes of it are before the row.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(crate) unsafe fn dst(&self, row: usize) -> (*mut u8, usize) {
        // SAFETY: the destinations of all rows are known.
        unsafe { self.dsts.get_unchecked(row).assume_init() }
    }

    /// Where the rows are read that come next, in bytes from the first of these: of the tile, or of
    /// the next one.
    #[inline(always)]
    pub(crate) fn next(&self, tile: &Tile) -> isize {
        let bytes = self.count * tile.width;
        let after = match tile.next {
            Some(next) if self.src + bytes == tile.rows.len * tile.width => next.src,
            _ => return bytes.cast_signed(),
        };
        (after.addr().wrapping_sub(tile.src.addr()).wrapping_sub(self.src)).cast_signed()
    }

    /// Prefetches the lines that rows have `bytes` bytes after their first, where a row begins or
    /// ends within them: a line that is written in part is read before.
    #[inline(always)]
    pub(crate) fn prefetch_partial(&self, bytes: usize) {
        for row in 0..self.count {
            // SAFETY: there is such a row.
            let (base, over) = unsafe { self.dst(row) };
            prefetch_partial(base.wrapping_add(over + bytes));
        }
    }
}
