//! Moves rows of bytes that are read at indices and are contiguous in the destination.
//!
//! The rows are written as one run. A cache line with the end of one row and the start of the next is assembled in
//! registers. Hardware prefetchers do not predict where the next row is read, so each line also prefetches a line of a
//! later row.

use crate::gather::indexed::IndexTile;
use crate::parts::writer::Writer;
use crate::pattern::Space;
use crate::simd::{L1, L2, LINE, Token, Vector};
use crate::tuning::Level;

pub(crate) use crate::pattern::always as applies;

/// Prefetch distance in bytes: so many are in flight (measured; docs/notes/kernels.md).
const AHEAD_BYTES: usize = 4 << 10;

/// Size of a tile in bytes, whose first rows are prefetched late. A guess: a fraction of a second-level cache.
const TILE_BYTES: usize = 256 << 10;

/// The columns are the rows that are moved.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    (1, (TILE_BYTES / space.pattern.width).max(1))
}

/// # Safety
/// As [`KernelFn::IndexTile`](crate::KernelFn::IndexTile); along the columns the destination is contiguous.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &IndexTile<'_>) {
    let (rows, _) = tile.rows;
    let unaligned = tile.dst.addr() | tile.width | rows.dst_stride.cast_unsigned();
    for row in 0..rows.len {
        // SAFETY: the caller upholds `# Safety`. All positions in the destination are multiples of W.
        unsafe {
            by_grain_and_level!(
                unaligned,
                tile.tuning.run_level,
                stream_row::<V>(token, tile, row)
            );
        }
    }
}

/// Writes the columns of a row as one run, by streaming stores.
///
/// # Safety
/// As [`run`]. All columns begin and end at multiples of W in the destination.
#[inline(always)]
unsafe fn stream_row<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &IndexTile<'_>,
    row: usize,
) {
    let IndexTile { width, cols: (cols, _), .. } = *tile;
    let ahead = (AHEAD_BYTES / width).clamp(1, cols.len);
    let mut writer = Writer::at(token, tile.dst_of(row));
    for col in 0..ahead {
        let src = tile.src_of(row, col);
        for at in (0..width).step_by(LINE) {
            V::prefetch_into::<LEVEL>(src.wrapping_add(at));
        }
    }
    // SAFETY: an element is `width` bytes of the source, and the elements of a row are contiguous in the destination.
    unsafe {
        for col in 0..cols.len {
            let src = tile.src_of(row, col);
            let next = tile.src_of(row, (col + ahead).min(cols.len - 1));
            V::prefetch_into::<LEVEL>(next.wrapping_add(width - 1));
            writer.put_run::<W, LEVEL>(
                src,
                width,
                next.addr().wrapping_sub(src.addr()).cast_signed(),
            );
        }
        writer.end();
    }
}
