//! Tiles, the arguments of kernels: rows and columns of elements.

use core::fmt;

use crate::jumps::Jumps;
use crate::simd::{LINE, prefetch};
use crate::tuning::Tuning;

/// A loop with fixed strides in source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffineLoop {
    /// The number of iterations.
    pub len: usize,
    /// The distance in the source between iterations, in bytes.
    pub src_stride: isize,
    /// The distance in the destination between iterations, in bytes.
    pub dst_stride: isize,
}

impl AffineLoop {
    /// A loop of one iteration.
    pub const ONCE: AffineLoop = AffineLoop { len: 1, src_stride: 0, dst_stride: 0 };
}

impl fmt::Display for AffineLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x (src {:+}, dst {:+})", self.len, self.src_stride, self.dst_stride)
    }
}

/// How the result is written. A kernel that can use a variant can also use the lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreKind {
    /// Ordinary stores: the result stays in the caches, or the kernel has no streaming stores.
    Ordinary,
    /// Streaming (non-temporal) stores: the result is larger than the caches. Whole lines are written without being
    /// read first.
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

/// In a shorter row, writing the two incomplete lines at its ends takes more time than streaming saves (a guess).
pub(crate) const LEAST_STREAMED_BYTES: usize = 4 * LINE;

/// Prefetch distance in bytes if source lines are contiguous. The hardware prefetcher also predicts ascending lines,
/// but later (docs/kernels.md).
pub(crate) const AHEAD_BYTES: usize = 4096;

/// The row that is moved next. Its start is prefetched at the end of the current row, because the hardware prefetcher
/// does not predict it.
#[derive(Clone, Copy)]
pub struct Next {
    pub(crate) src: *const u8,
    dst: *mut u8,
    /// The distance between source lines in reading order, in bytes.
    step: isize,
}

impl Next {
    /// Makes a `Next` for the row that begins at these addresses, with columns `stride` bytes apart in the source.
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

    /// Returns the address of column `index`, which need not be valid.
    #[inline(always)]
    pub(crate) fn column(&self, index: usize, stride: isize) -> *const u8 {
        self.src.wrapping_offset(index.cast_signed().wrapping_mul(stride))
    }

    /// Prefetches the destination lines that are written in part: at the start of this row, and at `end`, the end of
    /// the current one.
    #[inline(always)]
    pub(crate) fn prefetch_partial(&self, end: *mut u8) {
        prefetch_partial(end);
        prefetch_partial(self.dst);
    }

    /// Prefetches the two lines after the first `lines` ones. An unaligned row can end in either.
    #[inline(always)]
    pub(crate) fn prefetch_rest(&self, lines: usize) {
        prefetch(self.line(lines));
        prefetch(self.line(lines + 1));
    }
}

/// Prefetches the line of `at` unless a run that begins or ends there writes it whole. The processor reads such a line
/// before the store, and later streaming stores would wait.
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
    /// Jumps of the rows in the destination, if the kernel's [`Roles`](crate::Roles) allow them.
    pub row_jumps: Jumps,
    /// Jumps of the columns in the source, if the kernel's [`Roles`](crate::Roles) allow them.
    pub col_jumps: Jumps,
    /// How the result is written.
    pub store: StoreKind,
    /// The row that is moved after this tile, if known.
    pub next: Option<Next>,
    /// The tuning record.
    pub tuning: Tuning,
}

/// Similar tiles, one for each iteration of a loop.
#[derive(Clone, Copy)]
pub struct Tiles {
    /// The first tile.
    pub tile: Tile,
    /// The loop over tiles.
    pub along: AffineLoop,
}

impl Tile {
    /// Prefetches the first and the last line of the destination, if they are written in part.
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
