//! Moves elements that are read at indices from a table.

use core::array;

use crate::elements::copy::{Elements, Opaque, by_width, copy, copy_each};
use crate::pattern::Space;
use crate::simd::prefetch;
use crate::tile::AffineLoop;
use crate::tuning::Tuning;

pub(crate) use crate::pattern::always as applies;

/// A tile of elements that are each read at an index.
#[derive(Clone, Copy)]
pub struct IndexTile<'a> {
    /// The source of the first element if its index is 0.
    pub src: *const u8,
    /// The destination of the first element.
    pub dst: *mut u8,
    /// The size of an element in bytes.
    pub width: usize,
    /// The loop over rows, and its stride in the table.
    pub rows: (AffineLoop, isize),
    /// The loop over the elements of a row, and its stride in the table.
    pub cols: (AffineLoop, isize),
    /// The table of indices.
    pub indices: &'a [usize],
    /// The position of the first element's index in the table.
    pub entry: usize,
    /// The distance in the source between consecutive indices, in bytes.
    pub scale: isize,
    /// Whether elements are prefetched, because the indexed part of the source exceeds [`FAR_BYTES`].
    pub is_far: bool,
    /// The tuning record.
    pub tuning: Tuning,
}

impl IndexTile<'_> {
    pub(crate) fn dst_of(&self, row: usize) -> *mut u8 {
        self.dst.wrapping_offset(row.cast_signed() * self.rows.0.dst_stride)
    }

    fn src_of_row(&self, row: usize) -> *const u8 {
        self.src.wrapping_offset(row.cast_signed() * self.rows.0.src_stride)
    }

    #[inline(always)]
    fn entry_of(&self, row: usize, col: usize) -> usize {
        let (row, col) = (row.cast_signed() * self.rows.1, col.cast_signed() * self.cols.1);
        self.entry.wrapping_add_signed(row + col)
    }

    #[inline(always)]
    pub(crate) fn src_of(&self, row: usize, col: usize) -> *const u8 {
        let index = self.indices[self.entry_of(row, col)].cast_signed();
        self.src_of_row(row)
            .wrapping_offset(col.cast_signed() * self.cols.0.src_stride)
            .wrapping_offset(index.wrapping_mul(self.scale))
    }

    #[inline(always)]
    fn prefetch(&self, row: usize, col: usize) {
        let src = self.src_of(row, col);
        prefetch(src);
        if self.width > 1 {
            prefetch(src.wrapping_add(self.width - 1));
        }
    }
}

/// An indexed source of more bytes does not stay in a second-level cache, so elements are prefetched (measured;
/// docs/kernels.md).
pub const FAR_BYTES: usize = 1 << 20;

/// The indices of so many columns stay in a second-level cache.
const MOST_COLS: usize = 1 << 12;
const MOST_ELEMENTS: usize = 1 << 13;

/// Tiles are small enough that all threads get work, and that a cancelled run stops soon.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let cols = space.pattern.lens.1.clamp(1, MOST_COLS);
    (MOST_ELEMENTS / cols, cols)
}

/// Prefetch distance in elements. Without prefetches, a core has only a few loads in progress (measured;
/// docs/kernels.md).
pub const ELEMENTS_AHEAD: usize = 64;

/// Prefetch distance for indices, in bytes. The loads of elements disturb the hardware prefetcher (measured;
/// docs/kernels.md).
pub const INDICES_AHEAD_BYTES: usize = 2 << 10;

/// Number of elements that are read before the first of them is written.
pub const ELEMENTS_AT_ONCE: usize = 4;

/// # Safety
/// As [`KernelFn::IndexTile`](crate::KernelFn::IndexTile).
pub(crate) unsafe fn run(tile: &IndexTile<'_>) {
    if tile.cols.1 == 1 {
        by_width!(
            tile.width,
            // SAFETY: the caller upholds `# Safety`: all elements are valid. W is the width.
            W => return (0..tile.rows.0.len).for_each(|row| unsafe { copy_row::<W>(tile, row) }),
            ()
        );
    }
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe { copy_each(tile.width, tile) };
}

/// Copies a row whose indices are contiguous in the table. Several elements are read before the first is written, so
/// that their loads overlap.
///
/// # Safety
/// As [`run`].
unsafe fn copy_row<const W: usize>(tile: &IndexTile<'_>, row: usize) {
    let IndexTile { cols: (cols, _), scale, .. } = *tile;
    let (first, src, dst) = (tile.entry_of(row, 0), tile.src_of_row(row), tile.dst_of(row));
    let from = |col: usize, index: usize| {
        src.wrapping_offset(col.cast_signed() * cols.src_stride)
            .wrapping_offset(index.cast_signed().wrapping_mul(scale))
    };
    let to = |col: usize| dst.wrapping_offset(col.cast_signed() * cols.dst_stride);
    let (stretches, rest) = tile.indices[first..][..cols.len].as_chunks::<ELEMENTS_AT_ONCE>();
    for (number, stretch) in stretches.iter().enumerate() {
        let col = number * ELEMENTS_AT_ONCE;
        prefetch(stretch.as_ptr().cast::<u8>().wrapping_add(INDICES_AHEAD_BYTES));
        if tile.is_far
            && let Some(later) = stretches.get(number + ELEMENTS_AHEAD / ELEMENTS_AT_ONCE)
        {
            for (k, index) in later.iter().enumerate() {
                prefetch(from(col + ELEMENTS_AHEAD + k, *index));
            }
        }
        let elements: [Opaque<W>; ELEMENTS_AT_ONCE] = array::from_fn(|k| {
            // SAFETY: the caller guarantees that the elements of the tile are valid.
            unsafe { from(col + k, stretch[k]).cast::<Opaque<W>>().read_unaligned() }
        });
        for (k, element) in elements.into_iter().enumerate() {
            // SAFETY: the caller guarantees that the elements of the tile are valid.
            unsafe { to(col + k).cast::<Opaque<W>>().write_unaligned(element) };
        }
    }
    for (col, index) in (stretches.len() * ELEMENTS_AT_ONCE..).zip(rest) {
        // SAFETY: the caller guarantees that the elements of the tile are valid.
        unsafe { copy::<W>(from(col, *index), to(col)) };
    }
}

impl Elements for IndexTile<'_> {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        let cols = self.cols.0;
        for row in 0..self.rows.0.len {
            let dst = self.dst_of(row);
            for col in 0..cols.len {
                if self.is_far && col + ELEMENTS_AHEAD < cols.len {
                    self.prefetch(row, col + ELEMENTS_AHEAD);
                }
                copy(
                    self.src_of(row, col),
                    dst.wrapping_offset(col.cast_signed() * cols.dst_stride),
                );
            }
        }
    }
}
