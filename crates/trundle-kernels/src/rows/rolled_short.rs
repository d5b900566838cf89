//! Rolls short rows that are contiguous, in whole vectors.
//!
//! Before the cut, the bytes of a destination row come from where the row would be read without the roll, after the cut
//! from one row earlier. So a destination vector is selected, byte by byte, from two source vectors that are a row
//! apart.

use core::mem::MaybeUninit;
use core::ops::Range;

use super::{rolled, runs};
use crate::pattern::Pattern;
use crate::simd::{L1, L2, LINE, Token, Vector, prefetch};
use crate::tile::{StoreKind, Tile};
use crate::tuning::Level;

pub(crate) use super::tile;

/// Longer rows are copied as two runs each, because few of their vectors have bytes of both (a guess).
const MOST_ROW_BYTES: usize = 512;

/// The same if the result stays in the caches (measured; docs/notes/kernels.md).
const MOST_CACHED_ROW_BYTES: usize = 2 * LINE;

/// In smaller tiles, few bytes are in whole lines between the first and the last cut (a guess).
const LEAST_BYTES: usize = 16 * LINE;

/// Applies to short rolled rows that are contiguous in source and destination.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let (rows, cols) = pattern.lens;
    let row = cols.saturating_mul(pattern.width);
    let follow = pattern.row_strides == (row.cast_signed(), row.cast_signed());
    follow && row <= MOST_ROW_BYTES && rows.saturating_mul(row) >= LEAST_BYTES
}

/// Moves short rolled rows, contiguous in source and destination, in whole vectors.
///
/// # Safety
/// As [`rolled::run`].
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let Tile { src, dst, rows, cols, width, .. } = *tile;
    let rolled =
        RolledRows { token, src, dst, row: cols.len * width, cut: tile.col_jumps.first * width };
    let bytes = rows.len * rolled.row;
    let streamed = tile.store == StoreKind::Streaming;
    let most = if streamed { MOST_ROW_BYTES } else { MOST_CACHED_ROW_BYTES };
    // Both source vectors are valid only between the first cut and the last cut.
    let begin = rolled.cut + dst.wrapping_add(rolled.cut).align_offset(LINE);
    let end = begin + (bytes - rolled.row + rolled.cut).saturating_sub(begin) / LINE * LINE;
    if end <= begin || rolled.row > most || rows.dst_stride != rolled.row.cast_signed() {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { rolled::run(token, tile) };
    }
    let ahead = tile.tuning.run_ahead;
    // SAFETY: the rows are contiguous rows of the tile. The vectors are between the first cut and the last cut.
    unsafe {
        if streamed {
            // Lines that ordinary stores write partially are read first.
            for at in (0..begin).step_by(LINE).chain((end..bytes).step_by(LINE)) {
                prefetch(dst.wrapping_add(at));
            }
        }
        rolled.put_runs(0..begin);
        match (streamed, tile.tuning.rolled_level) {
            (false, _) => rolled.put_vectors::<false, L1>(begin..end, ahead),
            (true, Level::L1) => rolled.put_vectors::<true, L1>(begin..end, ahead),
            (true, Level::L2) => rolled.put_vectors::<true, L2>(begin..end, ahead),
        }
        rolled.put_runs(end..bytes);
    }
}

struct RolledRows<V> {
    token: Token<V>,
    /// The source of the first byte of the first row.
    src: *const u8,
    dst: *mut u8,
    /// The length of a row in bytes.
    row: usize,
    /// The bytes of a row before the cut. They are read as if rows were not rolled, the others one row earlier.
    cut: usize,
}

impl<V: Vector> RolledRows<V> {
    /// Copies the bytes `range`, counted from the start of the first row, run by run.
    ///
    /// # Safety
    /// `range` lies within the rows.
    #[inline(always)]
    unsafe fn put_runs(&self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let in_row = at % self.row;
            let (end, src) = if in_row < self.cut {
                (self.cut, self.src.wrapping_add(at))
            } else {
                (self.row, self.src.wrapping_add(at).wrapping_sub(self.row))
            };
            let bytes = (end - in_row).min(range.end - at);
            // SAFETY: the caller guarantees that these bytes are valid. They end at most where the run ends.
            unsafe { runs::copy_run(self.token, src, self.dst.add(at), bytes) };
            at += bytes;
        }
    }

    /// Copies the bytes `range` in whole vectors, and prefetches the source `ahead` bytes further on.
    ///
    /// # Safety
    /// `range` consists of whole lines between the first cut and the last cut. Rows have at most [`MOST_ROW_BYTES`]
    /// bytes.
    #[inline(always)]
    unsafe fn put_vectors<const STREAMED: bool, const LEVEL: u8>(
        &self,
        range: Range<usize>,
        ahead: usize,
    ) {
        let choice = self.choice();
        let choice: *const u8 = choice.as_ptr().cast();
        let step = V::BYTES % self.row;
        let mut in_row = range.start % self.row;
        for line in range.step_by(LINE) {
            if STREAMED {
                V::prefetch_into::<LEVEL>(self.src.wrapping_add(line + ahead));
            }
            for at in (line..line + LINE).step_by(V::BYTES) {
                // SAFETY: the caller guarantees that the bytes are valid. `choice` has masks for a vector that
                // begins at any byte of a row.
                unsafe {
                    let mask = V::load_mask(self.token, choice.add(in_row));
                    let src = self.src.add(at);
                    let before = V::load(self.token, src.sub(self.row));
                    let vector = V::select(mask, V::load(self.token, src), before);
                    if STREAMED {
                        vector.stream(self.dst.add(at));
                    } else {
                        vector.store(self.dst.add(at));
                    }
                }
                in_row += step;
                if in_row >= self.row {
                    in_row -= self.row;
                }
            }
        }
    }

    /// Returns a mask byte for each byte of a row, and for a vector that begins at the last one: 255 before the cut,
    /// and 0 after it.
    #[inline(always)]
    fn choice(&self) -> [MaybeUninit<u8>; MOST_ROW_BYTES + LINE] {
        let mut choice = [MaybeUninit::uninit(); MOST_ROW_BYTES + LINE];
        for first in (0..self.row + V::BYTES).step_by(self.row) {
            let (end, cut) = ((first + self.row).min(choice.len()), first + self.cut);
            choice[first.min(end)..cut.min(end)].fill(MaybeUninit::new(u8::MAX));
            choice[cut.min(end)..end].fill(MaybeUninit::new(0));
        }
        choice
    }
}
