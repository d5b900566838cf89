//! Short runs that follow each other in the destination: whole lines are put together in registers.

use super::JoinedTile;
use super::writer::Writer;
use crate::simd::Vector;

/// Copies runs of bytes that follow each other in the destination without a gap. Lines are streamed;
/// the first and the last, which may be others' too, go through the caches.
///
/// # Safety
/// As [`Call::Joined`](super::Call::Joined).
#[inline(always)]
pub(super) unsafe fn joined<V: Vector>(tile: &JoinedTile<'_>) {
    // SAFETY: the runs are those of the tile, in the order of the destination.
    unsafe {
        let mut writer = Writer::<V>::at(tile.dst);
        let mut over_src = tile.src;
        for _ in 0..tile.over.len {
            let mut src = over_src;
            for _ in 0..tile.rows.len {
                if tile.runs.is_empty() {
                    writer.put(src, tile.row_bytes);
                } else {
                    for run in tile.runs {
                        writer.put(src.wrapping_offset(run.src_offset), run.bytes);
                    }
                }
                src = src.wrapping_offset(tile.rows.src_stride);
            }
            over_src = over_src.wrapping_offset(tile.over.src_stride);
        }
        writer.end();
    }
}
