//! The offsets of rows and columns, one after another.

use super::strip::Rows;
use super::{Fold, Tile};

/// The offsets of rows or columns, one after another, on the side where they may jump.
pub(super) struct Cursor {
    pub(super) offset: isize,
    stride: isize,
    fold: Fold,
    /// How many steps are left until the next jump.
    pub(super) until_jump: usize,
}

impl Cursor {
    pub(super) fn of_rows(tile: &Tile) -> Cursor {
        let fold = tile.row_fold;
        Cursor { offset: 0, stride: tile.rows.dst_stride, fold, until_jump: fold.first }
    }

    pub(super) fn of_cols(tile: &Tile) -> Cursor {
        let fold = tile.col_fold;
        Cursor { offset: 0, stride: tile.cols.src_stride, fold, until_jump: fold.first }
    }

    /// Goes on by `steps` steps.
    #[inline(always)]
    pub(super) fn skip(&mut self, mut steps: usize) {
        while steps >= self.until_jump {
            self.go(self.until_jump);
            steps -= self.until_jump;
            self.jump();
        }
        self.go(steps);
        self.until_jump -= steps;
    }

    /// Goes on by `steps` steps, with no jump.
    #[inline(always)]
    fn go(&mut self, steps: usize) {
        self.offset = self.offset.wrapping_add(steps.cast_signed().wrapping_mul(self.stride));
    }

    #[inline(always)]
    fn jump(&mut self) {
        let [jump, next] = self.fold.jumps;
        self.offset = self.offset.wrapping_add(jump.bytes);
        self.until_jump = jump.steps;
        self.fold.jumps = [next, jump];
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> isize {
        let offset = self.offset;
        self.offset = offset.wrapping_add(self.stride);
        self.until_jump -= 1;
        if self.until_jump == 0 {
            self.jump();
        }
        offset
    }
}

/// The columns that the source is asked for: some columns ahead of those that are read, and after
/// the last the first of the rows that come next, of this tile or of the next.
pub(super) struct Ahead {
    cursor: Cursor,
    /// How many columns are left until the first of the next rows.
    until_wrap: usize,
    wrapped: Cursor,
}

impl Ahead {
    /// `cols` columns ahead, for some rows of a tile.
    #[inline(always)]
    pub(super) fn of(tile: &Tile, cols: usize, rows: &Rows) -> Ahead {
        let cols = cols.min(tile.cols.len);
        let (mut cursor, mut wrapped) = (Cursor::of_cols(tile), Cursor::of_cols(tile));
        cursor.skip(cols);
        wrapped.offset = rows.next(tile);
        Ahead { cursor, until_wrap: tile.cols.len - cols, wrapped }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> isize {
        if self.until_wrap == 0 {
            return self.wrapped.next();
        }
        self.until_wrap -= 1;
        self.cursor.next()
    }
}
