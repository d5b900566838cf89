//! Moves adjacent lanes with a cut each, in whole cache lines.
//!
//! In one run, the *kept* one, all lanes read the same source row. In the other, the *reversed* one, they read rows in
//! the opposite order, each lane from its own row on. A few lines of lanes are packed in the second-level cache,
//! reordered there, and written as whole lines. Lanes that reverse a range of rows onto itself are swapped one after
//! another ([`swapped`](super::swapped)). Otherwise all lanes of a line are shifted at once
//! ([`barrel_shift`](super::barrel_shift)).

use super::barrel_shift::Shift;
use super::group::Group;
use super::ragged::LaneTile;
use super::reversed_run::Runs;
use super::strided_lanes;
use super::swapped::Swap;
use crate::parts::scratch::{MOST_BITS, MOST_LINES, PACKED_LINES, Scratch, pitch, scratch};
use crate::pattern::{Pattern, Space};
use crate::rows::runs;
use crate::simd::{LINE, Token, Vector};
use crate::tile::Tile;

/// The number of rows that are moved at a time if shifts could have more than [`MOST_BITS`] bits.
const ROWS_OF_MANY: usize = 1 << (MOST_BITS - 1);

/// Returns how many bytes of a row are moved at a time.
fn most_bytes(rows: usize) -> usize {
    LINE * (PACKED_LINES / pitch(rows)).min(MOST_LINES)
}

fn block_rows(rows: usize) -> usize {
    if rows <= 1 << MOST_BITS { rows } else { ROWS_OF_MANY }
}

/// Applies to lanes that are contiguous in source and destination.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    runs::applies(pattern, vector_bytes)
}

/// A tile has several groups of lanes.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (rows, _)) = (space.pattern.width, space.pattern.lens);
    let rows = block_rows(rows);
    (rows, 4 * most_bytes(rows) / width)
}

/// # Safety
/// As [`KernelFn::LaneTile`](crate::KernelFn::LaneTile); the lanes are neighbours in the source and in the destination.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &LaneTile<'_>) {
    // SAFETY: this thread moves one tile at a time.
    let (Some(runs), Some(mut scratch)) = (Runs::of(tile.ragged), unsafe { scratch() }) else {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { strided_lanes::run(tile) };
    };
    let Tile { dst, rows, cols, width, .. } = tile.tile;
    let (row_end, bytes) = (tile.row_begin + rows.len, cols.len * width);
    let row_block = block_rows(rows.len);
    // Groups have similar sizes, and begin at lines of the destination.
    let most = most_bytes(row_block).saturating_sub(LINE).max(LINE);
    let byte_block = bytes.div_ceil(bytes.div_ceil(most)).next_multiple_of(LINE);
    let first_end = bytes.min(byte_block + dst.align_offset(LINE));
    for row in (tile.row_begin..row_end).step_by(row_block) {
        let (mut begin, mut end) = (0, first_end);
        while begin < end {
            let rows = row..row_end.min(row + row_block);
            let next = if end < bytes {
                Some(tile.tile.src.wrapping_add(end))
            } else {
                tile.tile.next.map(|next| next.src)
            };
            let group = Group { tile, runs, rows, bytes: begin..end, next };
            // SAFETY: the group is a part of the tile. This thread moves one group at a time, and nothing else uses the
            // scratch.
            begin = unsafe { group.copy(token, &mut scratch) };
            end = bytes.min(begin + byte_block);
        }
    }
}

impl Group<'_> {
    /// Moves as many lines of the group as fit in the scratch. Returns the end of the moved bytes.
    ///
    /// # Safety
    /// As [`run`], for a group of the tile with at most [`block_rows`] rows.
    #[inline(always)]
    unsafe fn copy<V: Vector>(mut self, token: Token<V>, scratch: &mut Scratch<'_>) -> usize {
        let reversed = loop {
            let Some(reversed) = self.find_reversed(scratch.lanes) else {
                // SAFETY: every lane keeps all rows.
                unsafe { self.copy_kept(token, self.rows.clone()) };
                return self.bytes.end;
            };
            let fitting = PACKED_LINES / pitch(reversed.packed_rows(self.rows.len()));
            if self.lines() <= fitting {
                break reversed;
            }
            // The lanes have few rows, far apart in the source.
            self.bytes.end = self.bytes.start + fitting * LINE;
        };
        // SAFETY: no lane is reversed outside the rows of `reversed`.
        unsafe {
            self.copy_kept(token, self.rows.start..reversed.rows.start);
            match Swap::of(&self, &reversed, scratch.lanes, V::BYTES) {
                Some(swap) => swap.copy(token, scratch),
                None => Shift::of(token, &self, &reversed).copy_all(scratch),
            }
            self.copy_kept(token, reversed.rows.end..self.rows.end);
        }
        self.bytes.end
    }
}
