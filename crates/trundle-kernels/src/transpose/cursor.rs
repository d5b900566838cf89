//! Offsets of rows and columns that may jump.

use core::mem::MaybeUninit;

use super::row_block::RowBlock;
use crate::jumps::Jumps;
use crate::tile::Tile;

/// Iterates over the offsets of rows in the destination, or of columns in the source.
pub(crate) struct Cursor {
    pub(crate) offset: isize,
    stride: isize,
    jumps: Jumps,
    /// The number of rows or columns before the next jump.
    pub(crate) until_jump: usize,
}

impl Cursor {
    pub(crate) fn of_rows(tile: &Tile) -> Cursor {
        let jumps = tile.row_jumps;
        Cursor { offset: 0, stride: tile.rows.dst_stride, jumps, until_jump: jumps.first }
    }

    pub(crate) fn of_cols(tile: &Tile) -> Cursor {
        let jumps = tile.col_jumps;
        Cursor { offset: 0, stride: tile.cols.src_stride, jumps, until_jump: jumps.first }
    }

    #[inline(always)]
    pub(crate) fn skip(&mut self, mut steps: usize) {
        while steps >= self.until_jump {
            self.go(self.until_jump);
            steps -= self.until_jump;
            self.jump();
        }
        self.go(steps);
        self.until_jump -= steps;
    }

    #[inline(always)]
    fn go(&mut self, steps: usize) {
        self.offset = self.offset.wrapping_add(steps.cast_signed().wrapping_mul(self.stride));
    }

    #[inline(always)]
    fn jump(&mut self) {
        let [jump, next] = self.jumps.following;
        self.offset = self.offset.wrapping_add(jump.bytes);
        self.until_jump = jump.steps;
        self.jumps.following = [next, jump];
    }

    /// Writes the address of each step, relative to `base`, and advances past them.
    #[inline(always)]
    pub(crate) fn fill(&mut self, base: *const u8, addresses: &mut [MaybeUninit<*const u8>]) {
        let mut rest = addresses;
        while !rest.is_empty() {
            // Without branches between two jumps, the compiler vectorizes the loop.
            let (addresses, later) = rest.split_at_mut(self.until_jump.min(rest.len()));
            let first = base.wrapping_offset(self.offset);
            for (step, address) in addresses.iter_mut().enumerate() {
                let offset = step.cast_signed().wrapping_mul(self.stride);
                address.write(first.wrapping_offset(offset));
            }
            self.skip(addresses.len());
            rest = later;
        }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> isize {
        let offset = self.offset;
        self.offset = offset.wrapping_add(self.stride);
        self.until_jump -= 1;
        if self.until_jump == 0 {
            self.jump();
        }
        offset
    }
}

/// Iterates over the columns to prefetch, some columns ahead of the reads. After the last one come the first columns of
/// the next rows, in this tile or the next one.
pub(crate) struct Lookahead {
    cursor: Cursor,
    /// The number of columns before the first column of the next rows.
    until_wrap: usize,
    wrapped: Cursor,
}

impl Lookahead {
    /// Starts `cols` columns ahead.
    #[inline(always)]
    pub(crate) fn of(tile: &Tile, cols: usize, rows: &RowBlock) -> Lookahead {
        let cols = cols.min(tile.cols.len);
        let (mut cursor, mut wrapped) = (Cursor::of_cols(tile), Cursor::of_cols(tile));
        cursor.skip(cols);
        wrapped.offset = rows.next(tile);
        Lookahead { cursor, until_wrap: tile.cols.len - cols, wrapped }
    }

    #[inline(always)]
    pub(crate) fn fill(&mut self, base: *const u8, addresses: &mut [MaybeUninit<*const u8>]) {
        let (here, wrapped) = addresses.split_at_mut(self.until_wrap.min(addresses.len()));
        self.until_wrap -= here.len();
        self.cursor.fill(base, here);
        self.wrapped.fill(base, wrapped);
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> isize {
        if self.until_wrap == 0 {
            return self.wrapped.next();
        }
        self.until_wrap -= 1;
        self.cursor.next()
    }
}
