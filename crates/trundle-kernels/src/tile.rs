//! What a kernel is given: rows of columns of elements, and where they lie on both sides.

use std::fmt;

use crate::jumps::Jumps;
use crate::simd::{LINE, prefetch};
use crate::tuning::Tuning;

/// `len` steps at fixed distances on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffineLoop {
    /// The number of steps.
    pub len: usize,
    /// The distance between neighbours in the source, in bytes.
    pub src_stride: isize,
    /// The distance between neighbours in the destination, in bytes.
    pub dst_stride: isize,
}

impl fmt::Display for AffineLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x (src {:+}, dst {:+})", self.len, self.src_stride, self.dst_stride)
    }
}

/// How the result is written. Of two, the greater can do more: who can stream can also store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    /// Ordinary stores: the result is small enough to stay in the caches for whoever reads it next, or
    /// its kernel has no others.
    Ordinary,
    /// Streaming (non-temporal) stores: the result is larger than the caches, and a line that is
    /// written whole need not be read first.
    Streaming,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Store::Ordinary => "ordinary stores",
            Store::Streaming => "streaming stores",
        })
    }
}

/// Rows shorter than this are not worth aligning for streamed stores: the two partial lines at the
/// ends cost more (a guess).
pub(crate) const LEAST_STREAMED_BYTES: usize = 4 * LINE;

/// How far ahead the source is prefetched where its lines follow each other. The hardware
/// prefetcher predicts those that rise too, but not as soon (docs/kernels.md).
pub(crate) const AHEAD_BYTES: usize = 4096;

/// Where moving goes on after a row: it is prefetched while the row's end is moved, since the
/// hardware prefetcher does not predict where a row begins.
#[derive(Clone, Copy)]
pub struct Next {
    pub(crate) src: *const u8,
    dst: *mut u8,
    /// From line to line of the source.
    step: isize,
}

impl Next {
    /// From the element at `src` on, whose neighbours are `stride` bytes apart, to `dst`.
    #[inline]
    pub fn at(src: *const u8, dst: *mut u8, stride: isize) -> Next {
        let line = LINE.cast_signed();
        Next { src, dst, step: if stride < 0 { -line } else { line } }
    }

    /// Line `index` of the row, which need not be valid.
    #[inline(always)]
    pub(crate) fn line(&self, index: usize) -> *const u8 {
        self.src.wrapping_offset(index.cast_signed() * self.step)
    }

    /// Where column `index` begins, of columns `stride` bytes apart. It need not be valid.
    #[inline(always)]
    pub(crate) fn column(&self, index: usize, stride: isize) -> *const u8 {
        self.src.wrapping_offset(index.cast_signed().wrapping_mul(stride))
    }

    /// Prefetches the lines that this row and the one before, which ends at `end`, write in part.
    #[inline(always)]
    pub(crate) fn prefetch_partial(&self, end: *mut u8) {
        prefetch_partial(end);
        prefetch_partial(self.dst);
    }

    /// Prefetches the lines that the row lies in beyond its first `lines`: it begins and ends
    /// within lines of the source.
    #[inline(always)]
    pub(crate) fn prefetch_rest(&self, lines: usize) {
        prefetch(self.line(lines));
        prefetch(self.line(lines + 1));
    }
}

/// Prefetches the line that `at` lies in, if a run that begins or ends there writes it in part: it
/// is read before, for which the streamed lines behind it wait.
#[inline(always)]
pub(crate) fn prefetch_partial(at: *mut u8) {
    if !at.addr().is_multiple_of(LINE) {
        prefetch(at);
    }
}

/// A tile to move: `rows.len` rows of `cols.len` elements of `width` bytes.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Where the first element of the first row is read.
    pub src: *const u8,
    /// Where it is written.
    pub dst: *mut u8,
    /// The size of an element in bytes.
    pub width: usize,
    /// The loop over rows.
    pub rows: AffineLoop,
    /// The loop over the elements of a row.
    pub cols: AffineLoop,
    /// Where rows jump in the destination: for kernels that are picked for it, else nowhere.
    pub row_jumps: Jumps,
    /// Where columns jump in the source.
    pub col_jumps: Jumps,
    /// How the result is written.
    pub store: Store,
    /// Where moving goes on after the last row, if that is known.
    pub next: Option<Next>,
    /// What is best on this machine.
    pub tuning: Tuning,
}

/// Tiles that are alike, a step of a loop apart.
#[derive(Clone, Copy)]
pub struct Tiles {
    /// The first.
    pub tile: Tile,
    /// From one to the next.
    pub along: AffineLoop,
}

impl Tile {
    /// Prefetches the first and the last line of the destination, which are written in part where
    /// rows follow each other.
    #[inline]
    pub fn prefetch_ends(&self) {
        let last = |each: AffineLoop| (each.len.cast_signed() - 1).wrapping_mul(each.dst_stride);
        let last = self.dst.wrapping_offset(last(self.rows)).wrapping_offset(last(self.cols));
        prefetch_partial(self.dst);
        prefetch_partial(last.wrapping_add(self.width));
    }

    /// The same tile with rows that rise through the source.
    pub(crate) fn rising(&self) -> Tile {
        if self.rows.src_stride >= 0 {
            return *self;
        }
        let last = self.rows.len.cast_signed() - 1;
        Tile {
            src: self.src.wrapping_offset(last * self.rows.src_stride),
            dst: self.dst.wrapping_offset(last * self.rows.dst_stride),
            rows: AffineLoop {
                len: self.rows.len,
                src_stride: -self.rows.src_stride,
                dst_stride: -self.rows.dst_stride,
            },
            ..*self
        }
    }

    /// Where moving goes on after a row.
    #[inline(always)]
    pub(crate) fn next(&self, row: usize) -> Next {
        let after = |stride: isize| (row + 1).cast_signed().wrapping_mul(stride);
        let src = self.src.wrapping_offset(after(self.rows.src_stride));
        let dst = self.dst.wrapping_offset(after(self.rows.dst_stride));
        let next = Next::at(src, dst, self.cols.src_stride);
        if row + 1 < self.rows.len { next } else { self.next.unwrap_or(next) }
    }

    /// Where a row begins.
    ///
    /// # Safety
    /// `row` is below `rows.len`, and the tile is valid as [`Call::Tile`] asks.
    #[inline(always)]
    pub(crate) unsafe fn row(&self, row: usize) -> (*const u8, *mut u8) {
        let row = row.cast_signed();
        // SAFETY: every element of the tile lies within the caller's buffers.
        unsafe {
            (
                self.src.offset(row * self.rows.src_stride),
                self.dst.offset(row * self.rows.dst_stride),
            )
        }
    }
}
