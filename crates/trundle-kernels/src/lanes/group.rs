//! Groups: rows and lanes that are moved together.

use core::ops::Range;

use super::ragged::{LaneTile, Run};
use super::reversed_run::{Reversed, Runs};
use crate::jumps::Jumps;
use crate::parts::scratch::{Lane, Scratch};
use crate::rows::runs;
use crate::simd::{LINE, Token, Vector};
use crate::tile::{AffineLoop, Tile};
use crate::tuning::Level;

/// Prefetch distance for the source of packed rows, in rows (measured; docs/notes/kernels.md).
pub(crate) const PACKED_AHEAD: isize = 8;

pub(crate) struct Group<'a> {
    pub(crate) tile: &'a LaneTile<'a>,
    pub(crate) runs: Runs<'a>,
    pub(crate) rows: Range<usize>,
    /// The bytes of adjacent lanes, counted from the first lane of the tile.
    pub(crate) bytes: Range<usize>,
    /// The source of row 0 of the next group, if known.
    pub(crate) next: Option<*const u8>,
}

impl Group<'_> {
    /// The last line overlaps the previous one if it would be incomplete.
    pub(crate) fn lines(&self) -> usize {
        self.bytes.len().div_ceil(LINE)
    }

    #[inline(always)]
    pub(crate) fn byte_of(&self, line: usize) -> usize {
        (line * LINE).min(self.bytes.len().saturating_sub(LINE))
    }

    fn lane_at(&self, byte: usize) -> usize {
        byte / self.tile.tile.width
    }

    pub(crate) fn lanes(&self) -> Range<usize> {
        self.lane_at(self.bytes.start)..self.lane_at(self.bytes.end - 1) + 1
    }

    /// Returns the bytes of lane `index`. The first and last lane may be only partly in the group.
    #[inline(always)]
    pub(crate) fn range_of(&self, index: usize) -> Range<usize> {
        let (width, Range { start, end }) = (self.tile.tile.width, self.bytes.clone());
        let lane = self.lane_at(start) + index;
        (lane * width).max(start) - start..((lane + 1) * width).min(end) - start
    }

    /// Returns `None` if no lane has reversed rows.
    pub(crate) fn find_reversed(&self, lanes: &mut [Lane]) -> Option<Reversed> {
        Reversed::find(self.tile, &self.runs, &self.rows, self.lanes(), lanes)
    }

    /// Computes the masks of each line, and where lanes begin or stop being reversed.
    #[inline(always)]
    pub(crate) fn find_shifts(&self, reversed: &Reversed, bits: usize, scratch: &mut Scratch<'_>) {
        let (width, first_lane) = (self.tile.tile.width, self.lane_at(self.bytes.start));
        let Reversed { rows, least, .. } = reversed;
        let Scratch { masks, changes, lanes, .. } = scratch;
        let changes = changes.chunks_exact_mut(reversed.made_rows()).take(self.lines());
        for (line, changes) in changes.enumerate() {
            let begin = self.bytes.start + self.byte_of(line);
            let end = self.bytes.end.min(begin + LINE);
            let line_masks = &mut masks[line];
            (line_masks.far[0], line_masks.fars) = ((0, 0), 0);
            let mut shifts = [0u16; LINE];
            changes.fill(0);
            for index in self.lane_at(begin)..=self.lane_at(end - 1) {
                let lane = lanes[index - first_lane];
                if lane.begin == lane.end {
                    continue;
                }
                let range =
                    (index * width).max(begin) - begin..((index + 1) * width).min(end) - begin;
                let bytes = u64::MAX >> (LINE - range.len()) << range.start;
                let shift = (lane.start - least).unsigned_abs();
                shifts[range].fill((shift % (1 << bits)) as u16);
                line_masks.add_far((shift >> bits << bits).cast_signed(), bytes);
                changes[lane.begin - rows.start] ^= bytes;
                if lane.end < rows.end {
                    changes[lane.end - rows.start] ^= bytes;
                }
            }
            line_masks.fars = line_masks.fars.max(1);
            for (bit, bytes) in line_masks.bits.iter_mut().enumerate() {
                *bytes = (0..LINE).fold(0, |all, at| all | u64::from(shifts[at] >> bit & 1) << at);
            }
        }
    }

    pub(crate) fn dst(&self) -> *mut u8 {
        self.tile.tile.dst.wrapping_add(self.bytes.start)
    }

    #[inline(always)]
    pub(crate) fn kept_src(&self, row: usize) -> *const u8 {
        self.kept_row(self.tile.tile.src.wrapping_add(self.bytes.start), row)
    }

    /// Returns the source of a kept row, for a group whose row 0 begins at `src`.
    #[inline(always)]
    pub(crate) fn kept_row(&self, src: *const u8, row: usize) -> *const u8 {
        let Run { src_offset, src_stride, .. } = *self.runs.kept;
        src.wrapping_offset(src_offset.wrapping_add(row.cast_signed().wrapping_mul(src_stride)))
    }

    /// Prefetches a row into the cache for reversed rows, because one of each lane's runs is reversed.
    #[inline(always)]
    pub(crate) fn prefetch_row<V: Vector>(&self, row: *const u8) {
        match self.tile.tile.tuning.reversed_level {
            Level::L1 => {
                (0..self.lines()).for_each(|line| V::prefetch(row.wrapping_add(line * LINE)));
            }
            Level::L2 => self.prefetch_row_l2::<V>(row),
        }
    }

    #[inline(always)]
    pub(crate) fn prefetch_row_l2<V: Vector>(&self, row: *const u8) {
        (0..self.lines()).for_each(|line| V::prefetch_l2(row.wrapping_add(line * LINE)));
    }

    /// Reads a vector from byte `at` of the group. Bytes after the end of the group are unspecified.
    ///
    /// # Safety
    /// The bytes of the group are valid for reads at `src`.
    #[inline(always)]
    pub(crate) unsafe fn load_part<V: Vector>(
        &self,
        token: Token<V>,
        src: *const u8,
        at: usize,
    ) -> V {
        let bytes = self.bytes.len().saturating_sub(at);
        // SAFETY: reads stay within the group.
        unsafe {
            if bytes >= V::BYTES {
                V::load(token, src.add(at))
            } else {
                V::load_first(token, src.wrapping_add(at), bytes)
            }
        }
    }

    /// Writes a vector at byte `at` of a line, as far as the group reaches.
    ///
    /// # Safety
    /// A line of the group is valid for writes at `dst`.
    #[inline(always)]
    pub(crate) unsafe fn store_part<V: Vector>(&self, vector: V, dst: *mut u8, at: usize) {
        let bytes = self.bytes.len().saturating_sub(at);
        // SAFETY: writes stay within the group.
        unsafe {
            if bytes >= V::BYTES {
                vector.store(dst.add(at));
            } else {
                vector.store_first(dst.wrapping_add(at), bytes);
            }
        }
    }

    /// # Safety
    /// `rows` are rows of the group. Their bytes are at `src`, and rows are `src_stride` bytes apart.
    #[inline(always)]
    pub(crate) unsafe fn write<V: Vector>(
        &self,
        token: Token<V>,
        rows: Range<usize>,
        src: *const u8,
        src_stride: isize,
    ) {
        let Tile { rows: AffineLoop { dst_stride, .. }, store, tuning, .. } = self.tile.tile;
        let dst = self.dst().wrapping_offset(rows.start.cast_signed() * dst_stride);
        let (mut count, mut bytes) = (rows.len(), self.bytes.len());
        let step = bytes.cast_signed();
        if (src_stride, dst_stride) == (step, step) {
            // Rows without gaps are one run.
            (count, bytes) = (1, bytes * count);
        }
        let rows = AffineLoop { len: count, src_stride, dst_stride };
        let cols = AffineLoop { len: bytes, src_stride: 1, dst_stride: 1 };
        // SAFETY: the caller guarantees that the rows are valid. Their bytes are contiguous in source and destination.
        unsafe {
            runs::run(
                token,
                &Tile {
                    src,
                    dst,
                    width: 1,
                    rows,
                    cols,
                    store,
                    row_jumps: Jumps::NONE,
                    col_jumps: Jumps::NONE,
                    next: None,
                    tuning,
                },
            );
        }
    }

    /// # Safety
    /// The rows are rows of the group that no lane reverses.
    #[inline(always)]
    pub(crate) unsafe fn copy_kept<V: Vector>(&self, token: Token<V>, rows: Range<usize>) {
        if !rows.is_empty() {
            let src = self.kept_src(rows.start);
            // SAFETY: every lane reads these rows.
            unsafe { self.write(token, rows, src, self.runs.kept.src_stride) };
        }
    }
}
