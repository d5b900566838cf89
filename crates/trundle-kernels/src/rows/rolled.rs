//! Rolls rows: each becomes its end followed by its start.
//!
//! A cache line with the end of one run and the start of the next is assembled in registers, so that every line is
//! written once and whole.

use super::{bytes_ahead, runs};
use crate::parts::writer::Writer;
use crate::pattern::Pattern;
use crate::simd::{L1, L2, Token, Vector};
use crate::tile::{StoreKind, Tile};
use crate::tuning::Level;

pub(crate) use super::tile;

/// Applies to rolled rows that no tile cuts.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    pattern.lens.1 * pattern.width <= super::RUN_BYTES
}

/// Moves each row as two runs.
///
/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let bytes = tile.cols.len * tile.width;
    let cut = tile.col_jumps.first * tile.width;
    let strides = tile.rows.dst_stride.unsigned_abs();
    let unaligned = bytes | cut | tile.dst.addr() | strides;
    // SAFETY: the caller upholds `# Safety`. All positions in the destination are multiples of W.
    unsafe {
        if tile.store == StoreKind::Ordinary {
            for row in 0..tile.rows.len {
                let (src, dst) = tile.row(row);
                runs::copy_run(token, src, dst, cut);
                runs::copy_run(
                    token,
                    src.offset(cut.cast_signed() + tile.col_jumps.following[0].bytes),
                    dst.add(cut),
                    bytes - cut,
                );
            }
        } else {
            by_grain_and_level!(unaligned, tile.tuning.rolled_level, stream_rows::<V>(token, tile));
        }
    }
}

/// Streams rolled rows, contiguous ones as one run.
///
/// # Safety
/// As [`run`]. The rows and the runs begin and end at multiples of W in the destination.
#[inline(always)]
unsafe fn stream_rows<V: Vector, const W: usize, const LEVEL: u8>(token: Token<V>, tile: &Tile) {
    let bytes = tile.cols.len * tile.width;
    let cut = tile.col_jumps.first * tile.width;
    let follow = tile.rows.dst_stride == bytes.cast_signed();
    let ahead = bytes_ahead(tile.rows.src_stride, &tile.tuning);
    // SAFETY: the first run of a row is `cut` bytes from `src` on, and the second run is before it. The writer writes
    // rows of the tile.
    unsafe {
        let mut writer = Writer::at(token, tile.dst);
        for row in 0..tile.rows.len {
            let (src, dst) = tile.row(row);
            if row > 0 && !follow {
                writer.end();
                writer = Writer::at(token, dst);
            }
            writer.put_run::<W, LEVEL>(src, cut, ahead);
            let first = src.offset(cut.cast_signed() + tile.col_jumps.following[0].bytes);
            writer.put_run::<W, LEVEL>(first, bytes - cut, ahead);
        }
        writer.end();
    }
}
