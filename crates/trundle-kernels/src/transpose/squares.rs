//! Exchanges two tiles of a square matrix and transposes both, by pairs of micro-tiles in registers.
//!
//! If the rows of a tile map to few sets of the caches, they would evict each other before all micro-tiles are
//! done. Both tiles are then copied row by row into the scratch, where rows are contiguous, and written
//! back row by row.

use core::mem::MaybeUninit;

use super::micro_tile::{MOST_VECTORS, transpose_micro_tile, written};
use super::packed_panel::are_aliasing;
use crate::elements::copy::by_width;
use crate::rows::runs::copy_run;
use crate::simd::{LINE, Token, Vector};

pub(crate) use crate::pattern::never as applies;
pub(crate) use crate::rows::tile;

/// A tile of a matrix and the tile at the transposed position, which may be the same.
#[derive(Clone, Copy)]
pub struct SquareTile {
    /// The start of the first tile.
    pub first: *mut u8,
    /// The start of the second tile.
    pub second: *mut u8,
    /// The distance between rows of the matrix, in bytes.
    pub stride: isize,
    /// The rows of the first tile, which are the columns of the second.
    pub rows: usize,
    /// The columns of the first tile.
    pub cols: usize,
    /// The size of an element in bytes: 1, 2, 4, 8 or 16.
    pub width: usize,
    /// The starts of the two tiles that are moved next.
    pub next: [*const u8; 2],
    /// Scratch of [`square_scratch_bytes`] bytes for this call alone.
    pub scratch: *mut u8,
}

/// Returns the distance between rows in the scratch. With a power of two, rows would evict each other there too.
fn pitch(cols: usize, width: usize) -> usize {
    (cols * width).next_multiple_of(LINE) + LINE
}

/// Returns the size of the scratch in bytes, for tiles of at most `side` rows and columns and a matrix whose rows are
/// `stride` bytes apart.
pub fn square_scratch_bytes(side: usize, width: usize, stride: isize) -> usize {
    if !are_aliasing(width, stride) {
        return 0;
    }
    // Both tiles, and the rows of a band, which are transposed together.
    (2 * side + LINE) * pitch(side, width)
}

/// How many rows ahead of the copied row are prefetched (measured; docs/notes/kernels.md).
const ROWS_AHEAD: isize = 8;

/// # Safety
/// As [`KernelFn::SquareTile`](crate::KernelFn::SquareTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &SquareTile) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe {
        by_width!(
            [1 2 4 8 16] tile.width,
            W => exchange::<V, W>(token, tile),
            unreachable!("squares of elements of {} bytes", tile.width)
        );
    }
}

/// # Safety
/// As [`run`], for elements of W bytes.
#[inline(always)]
unsafe fn exchange<V: Vector, const W: usize>(token: Token<V>, tile: &SquareTile) {
    if are_aliasing(W, tile.stride) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { exchange_through_scratch::<V, W>(token, tile) };
    }
    let side = V::BYTES / W;
    let is_diagonal = tile.first == tile.second;
    let (rows, cols) = (tile.rows / side * side, tile.cols / side * side);
    for row in (0..rows).step_by(side) {
        for col in (if is_diagonal { row } else { 0 }..cols).step_by(side) {
            let first = tile.at::<W>(tile.first, row, col);
            let second = tile.at::<W>(tile.second, col, row);
            for index in 0..side {
                V::prefetch_l2(tile.at::<W>(tile.next[0].cast_mut(), row + index, col));
                V::prefetch_l2(tile.at::<W>(tile.next[1].cast_mut(), col + index, row));
            }
            let mut one = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
            let mut other = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
            // SAFETY: both micro-tiles belong to the tiles. They are the same micro-tile or do not overlap.
            unsafe {
                load(token, first, tile.stride, &mut one[..side]);
                let one = written(&mut one[..side]);
                transpose_micro_tile::<V, W>(one);
                if first != second {
                    load(token, second, tile.stride, &mut other[..side]);
                    let other = written(&mut other[..side]);
                    transpose_micro_tile::<V, W>(other);
                    store(first, tile.stride, other);
                }
                store(second, tile.stride, one);
            }
        }
    }
    // The elements after the last whole micro-tile of rows or columns.
    for row in 0..tile.rows {
        let begin = if row < rows { cols } else { 0 };
        let begin = if is_diagonal { begin.max(row + 1) } else { begin };
        for col in begin..tile.cols {
            let first = tile.at::<W>(tile.first, row, col).cast::<[u8; W]>();
            let second = tile.at::<W>(tile.second, col, row).cast::<[u8; W]>();
            // SAFETY: both elements belong to the tiles, and do not overlap.
            unsafe { core::ptr::swap_nonoverlapping(first, second, 1) };
        }
    }
}

/// Does the same as [`exchange`], through the scratch.
///
/// # Safety
/// As [`exchange`].
#[inline(always)]
unsafe fn exchange_through_scratch<V: Vector, const W: usize>(token: Token<V>, tile: &SquareTile) {
    let SquareTile { first, second, stride, rows, cols, scratch, .. } = *tile;
    // SAFETY: the caller guarantees that both tiles are valid. The scratch has space for them and a band.
    unsafe {
        let one = ScratchTile { rows: scratch, pitch: pitch(cols, W) };
        let other = ScratchTile { rows: scratch.add(rows * one.pitch), pitch: pitch(rows, W) };
        let band = other.rows.add(cols * other.pitch);
        one.put(token, first, stride, rows, cols * W);
        if first == second {
            return one.write_transposed::<V, W>(token, (first, stride), (rows, cols), band);
        }
        other.put(token, second, stride, cols, rows * W);
        other.write_transposed::<V, W>(token, (first, stride), (rows, cols), band);
        one.write_transposed::<V, W>(token, (second, stride), (cols, rows), band);
    }
}

struct ScratchTile {
    rows: *mut u8,
    pitch: usize,
}

impl ScratchTile {
    /// # Safety
    /// The rows are valid for reads, and the scratch has space for them.
    #[inline(always)]
    unsafe fn put<V: Vector>(
        &self,
        token: Token<V>,
        from: *const u8,
        stride: isize,
        rows: usize,
        bytes: usize,
    ) {
        for row in 0..rows {
            let src = from.wrapping_offset(row.cast_signed() * stride);
            let ahead = src.wrapping_offset(ROWS_AHEAD * stride);
            for at in (0..bytes).step_by(LINE) {
                V::prefetch(ahead.wrapping_add(at));
            }
            // SAFETY: the caller guarantees that the bytes are valid.
            unsafe { copy_run(token, src, self.rows.add(row * self.pitch), bytes) };
        }
    }

    /// Writes the transpose of the tile in the scratch, with `rows` rows and `cols` columns. Some rows at a time are
    /// assembled at `band`.
    ///
    /// # Safety
    /// The rows are valid for writes. The tile in the scratch has these columns, and `band` has room for the rows of a
    /// micro-tile.
    #[inline(always)]
    unsafe fn write_transposed<V: Vector, const W: usize>(
        &self,
        token: Token<V>,
        (to, stride): (*mut u8, isize),
        (rows, cols): (usize, usize),
        band: *mut u8,
    ) {
        let side = V::BYTES / W;
        let band_pitch = pitch(cols, W);
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            for row in (0..rows).step_by(side) {
                let count = side.min(rows - row);
                let whole = if count == side { cols / side * side } else { 0 };
                for col in (0..whole).step_by(side) {
                    let mut vectors = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
                    let from = self.rows.add(col * self.pitch + row * W);
                    load(token, from, self.pitch.cast_signed(), &mut vectors[..side]);
                    let vectors = written(&mut vectors[..side]);
                    transpose_micro_tile::<V, W>(vectors);
                    store(band.add(col * W), band_pitch.cast_signed(), vectors);
                }
                for index in 0..count {
                    let put_together = band.add(index * band_pitch);
                    for col in whole..cols {
                        let from = self.rows.add(col * self.pitch + (row + index) * W);
                        core::ptr::copy_nonoverlapping(from, put_together.add(col * W), W);
                    }
                    let to = to.wrapping_offset((row + index).cast_signed() * stride);
                    copy_run(token, put_together, to, cols * W);
                }
            }
        }
    }
}

impl SquareTile {
    #[inline(always)]
    fn at<const W: usize>(&self, begin: *mut u8, row: usize, col: usize) -> *mut u8 {
        begin.wrapping_offset(row.cast_signed() * self.stride).wrapping_add(col * W)
    }
}

/// # Safety
/// The rows are valid for reads.
#[inline(always)]
unsafe fn load<V: Vector>(
    token: Token<V>,
    from: *const u8,
    stride: isize,
    vectors: &mut [MaybeUninit<V>],
) {
    for (row, vector) in vectors.iter_mut().enumerate() {
        // SAFETY: the caller guarantees that the bytes are valid.
        vector.write(unsafe { V::load(token, from.wrapping_offset(row.cast_signed() * stride)) });
    }
}

/// # Safety
/// The rows are valid for writes.
#[inline(always)]
unsafe fn store<V: Vector>(to: *mut u8, stride: isize, vectors: &[V]) {
    for (row, vector) in vectors.iter().enumerate() {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { vector.store(to.wrapping_offset(row.cast_signed() * stride)) };
    }
}
