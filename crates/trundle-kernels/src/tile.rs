//! Arguments of kernels: rows and columns of elements, and their addresses on both sides.

use std::fmt;

use crate::jumps::Jumps;
use crate::simd::{LINE, prefetch};
use crate::tuning::Tuning;

/// A loop of `len` steps with fixed strides on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffineLoop {
    /// The number of steps.
    pub len: usize,
    /// The distance between neighbours in the source, in bytes.
    pub src_stride: isize,
    /// The distance between neighbours in the destination, in bytes.
    pub dst_stride: isize,
}

impl AffineLoop {
    /// A loop of one step.
    pub const ONCE: AffineLoop = AffineLoop { len: 1, src_stride: 0, dst_stride: 0 };
}

impl fmt::Display for AffineLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x (src {:+}, dst {:+})", self.len, self.src_stride, self.dst_stride)
    }
}

/// How the result is written. A kernel that can use the greater variant can use the lesser one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreKind {
    /// Ordinary stores: the result fits the caches and stays there for its reader, or the kernel cannot stream.
    Ordinary,
    /// Streaming (non-temporal) stores: the result is larger than the caches, and lines that are written whole need
    /// not be read first.
    Streaming,
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StoreKind::Ordinary => "ordinary stores",
            StoreKind::Streaming => "streaming stores",
        })
    }
}

/// Shorter rows are not aligned for streaming stores: the two partial lines at the ends cost more (a guess).
pub(crate) const LEAST_STREAMED_BYTES: usize = 4 * LINE;

/// How far ahead the source is prefetched where its lines are contiguous. The hardware prefetcher also predicts
/// ascending lines, but later (docs/kernels.md).
pub(crate) const AHEAD_BYTES: usize = 4096;

/// Where moving continues after a row. It is prefetched during the end of the row, because the hardware prefetcher
/// does not predict the start of a row.
#[derive(Clone, Copy)]
pub struct Next {
    pub(crate) src: *const u8,
    dst: *mut u8,
    /// The distance between lines of the source.
    step: isize,
}

impl Next {
    /// Continues at the element at `src`, whose neighbours are `stride` bytes apart, and at `dst`.
    #[inline]
    pub fn at(src: *const u8, dst: *mut u8, stride: isize) -> Next {
        let line = LINE.cast_signed();
        Next { src, dst, step: if stride < 0 { -line } else { line } }
    }

    /// Returns the address of line `index` of the row, which need not be valid.
    #[inline(always)]
    pub(crate) fn line(&self, index: usize) -> *const u8 {
        self.src.wrapping_offset(index.cast_signed() * self.step)
    }

    /// Returns the address of column `index`, for columns `stride` bytes apart. It need not be valid.
    #[inline(always)]
    pub(crate) fn column(&self, index: usize, stride: isize) -> *const u8 {
        self.src.wrapping_offset(index.cast_signed().wrapping_mul(stride))
    }

    /// Prefetches the lines that this row and the one before, which ends at `end`, write partially.
    #[inline(always)]
    pub(crate) fn prefetch_partial(&self, end: *mut u8) {
        prefetch_partial(end);
        prefetch_partial(self.dst);
    }

    /// Prefetches the last lines of the row, after the first `lines`: the row begins and ends within lines.
    #[inline(always)]
    pub(crate) fn prefetch_rest(&self, lines: usize) {
        prefetch(self.line(lines));
        prefetch(self.line(lines + 1));
    }
}

/// Prefetches the line of `at` if a run that begins or ends there writes it partially. The line is read before the
/// store, and the streaming stores after it would wait.
#[inline(always)]
pub(crate) fn prefetch_partial(at: *mut u8) {
    if !at.addr().is_multiple_of(LINE) {
        prefetch(at);
    }
}

/// A tile to move: `rows.len` rows of `cols.len` elements of `width` bytes.
#[derive(Clone, Copy)]
pub struct Tile {
    /// The source of the first element.
    pub src: *const u8,
    /// The destination of the first element.
    pub dst: *mut u8,
    /// The size of an element in bytes.
    pub width: usize,
    /// The loop over rows.
    pub rows: AffineLoop,
    /// The loop over the elements of a row.
    pub cols: AffineLoop,
    /// Jumps of the rows in the destination, only for kernels whose roles allow them.
    pub row_jumps: Jumps,
    /// Jumps of the columns in the source.
    pub col_jumps: Jumps,
    /// How the result is written.
    pub store: StoreKind,
    /// Where moving continues after the last row, if known.
    pub next: Option<Next>,
    /// The tuning record.
    pub tuning: Tuning,
}

/// Similar tiles, at the steps of a loop.
#[derive(Clone, Copy)]
pub struct Tiles {
    /// The first tile.
    pub tile: Tile,
    /// The loop over tiles.
    pub along: AffineLoop,
}

impl Tile {
    /// Prefetches the first and the last line of the destination, which are written partially where rows are
    /// contiguous.
    #[inline]
    pub fn prefetch_ends(&self) {
        let last = |each: AffineLoop| (each.len.cast_signed() - 1).wrapping_mul(each.dst_stride);
        let last = self.dst.wrapping_offset(last(self.rows)).wrapping_offset(last(self.cols));
        prefetch_partial(self.dst);
        prefetch_partial(last.wrapping_add(self.width));
    }

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

    #[inline(always)]
    pub(crate) fn next(&self, row: usize) -> Next {
        let after = |stride: isize| (row + 1).cast_signed().wrapping_mul(stride);
        let src = self.src.wrapping_offset(after(self.rows.src_stride));
        let dst = self.dst.wrapping_offset(after(self.rows.dst_stride));
        let next = Next::at(src, dst, self.cols.src_stride);
        if row + 1 < self.rows.len { next } else { self.next.unwrap_or(next) }
    }

    /// Returns the source and the destination of a row.
    ///
    /// # Safety
    /// `row` is below `rows.len`, and the tile is valid as [`KernelFn::Tile`] requires.
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
