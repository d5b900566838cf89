//! Reverses lanes that read and write the same range of rows, as when a whole axis is reversed. Within a packed copy,
//! the first row of each lane is swapped with the last, the second with the last but one, and so on.
//!
//! Packed rows are an odd number of cache lines apart. So the rows of a lane spread over all sets of the first-level
//! cache, and stay there. At the same time, the source of the next group is prefetched into the second-level cache.

use core::mem::MaybeUninit;
use core::ops::Range;

use super::group::{Group, PACKED_AHEAD};
use super::reversed_run::Reversed;
use crate::elements::copy::by_width;
use crate::parts::scratch::{COPIED_BYTES, Lane, Scratch};
use crate::rows::runs;
use crate::simd::{LINE, Token, Vector};

/// If a vector is a whole line, shifts of smaller elements are faster (measured; docs/notes/kernels.md).
const LEAST_BYTES: usize = 2;

/// The number of pairs that are swapped together: all loads come before the first store.
const PAIRS: usize = 4;

pub(crate) struct Swap<'a> {
    group: &'a Group<'a>,
    /// The rows that any lane reverses.
    rows: &'a Range<usize>,
    pitch: usize,
}

impl<'a> Swap<'a> {
    /// Returns `None` if a lane cannot be reversed by swaps, or if shifts are faster.
    pub(crate) fn of(
        group: &'a Group<'a>,
        reversed: &'a Reversed,
        lanes: &[Lane],
        vector_bytes: usize,
    ) -> Option<Swap<'a>> {
        let kept = group.runs.kept_start()?;
        let lanes = &lanes[..group.lanes().len()];
        let in_place = |lane: &Lane| {
            let ends = (lane.begin + lane.end).cast_signed() - 1;
            lane.begin == lane.end || ends + lane.start == kept
        };
        let wide = group.tile.tile.width >= LEAST_BYTES || vector_bytes < LINE;
        let (lines, most) = (group.lines(), COPIED_BYTES / reversed.rows.len());
        let pitch = if (lines | 1) * LINE <= most { lines | 1 } else { lines } * LINE;
        (wide && pitch <= most && lanes.iter().all(in_place)).then_some(Swap {
            group,
            rows: &reversed.rows,
            pitch,
        })
    }

    /// # Safety
    /// The group is a part of a tile of [`packed_lanes`](super::packed_lanes), and the scratch contains its lanes.
    #[inline(always)]
    pub(crate) unsafe fn copy<V: Vector>(&self, token: Token<V>, scratch: &mut Scratch<'_>) {
        let lanes = &scratch.lanes[..self.group.lanes().len()];
        // SAFETY: lanes read the first and the last of these rows. The rows fit in the scratch.
        unsafe {
            self.pack(token, scratch.copies);
            by_width!(
                self.group.tile.tile.width,
                W => self.swap::<V, W>(lanes, scratch.copies),
                self.swap::<V, 0>(lanes, scratch.copies)
            );
            let pitch = self.pitch.cast_signed();
            self.group.write(token, self.rows.clone(), scratch.copies, pitch);
        }
    }

    /// # Safety
    /// As [`Swap::copy`].
    #[inline(always)]
    unsafe fn pack<V: Vector>(&self, token: Token<V>, to: *mut u8) {
        let stride = self.group.runs.kept.src_stride;
        for (index, row) in self.rows.clone().enumerate() {
            let src = self.group.kept_src(row);
            self.group.prefetch_row::<V>(src.wrapping_offset(PACKED_AHEAD * stride));
            // SAFETY: lanes read this row, or rows before and after it.
            unsafe {
                runs::copy_run(token, src, to.add(index * self.pitch), self.group.bytes.len());
            };
        }
    }

    /// Reverses lanes of W bytes, or of any width if W is 0, and prefetches the source of the next group.
    ///
    /// # Safety
    /// The rows are packed at `packed`.
    #[inline(always)]
    unsafe fn swap<V: Vector, const W: usize>(&self, lanes: &[Lane], packed: *mut u8) {
        let mut prefetched = self.rows.start;
        for (index, lane) in lanes.iter().enumerate() {
            if let Some(next) = self.group.next {
                let end = self.rows.start + self.rows.len() * (index + 1) / lanes.len();
                for row in prefetched..end {
                    self.group.prefetch_row_l2::<V>(self.group.kept_row(next, row));
                }
                prefetched = end;
            }
            if lane.end - lane.begin < 2 {
                continue;
            }
            let range = self.group.range_of(index);
            let at = |row: usize| {
                packed.wrapping_add((row - self.rows.start) * self.pitch + range.start)
            };
            let (first, last) = (at(lane.begin), at(lane.end - 1));
            let pairs = (lane.end - lane.begin) / 2;
            // SAFETY: the rows are packed, and each contains the bytes of the lane.
            unsafe {
                if range.len() == W {
                    swap_rows::<W>(first, last, self.pitch, pairs);
                } else {
                    swap_bytes(first, last, self.pitch, pairs, range.len());
                }
            }
        }
    }
}

/// Swaps W bytes in each of `pairs` pairs of rows, ascending from `first` and descending from `last`.
///
/// # Safety
/// All bytes are valid for reads and writes, and no two rows overlap.
#[inline(always)]
unsafe fn swap_rows<const W: usize>(first: *mut u8, last: *mut u8, pitch: usize, pairs: usize) {
    let at = |pair: usize| {
        let offset = pair * pitch;
        let (low, high) = (first.wrapping_add(offset), last.wrapping_sub(offset));
        (low.cast::<MaybeUninit<[u8; W]>>(), high.cast::<MaybeUninit<[u8; W]>>())
    };
    let whole = pairs / PAIRS * PAIRS;
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        for pair in (0..whole).step_by(PAIRS) {
            let mut values = [(MaybeUninit::uninit(), MaybeUninit::uninit()); PAIRS];
            for (index, (low, high)) in values.iter_mut().enumerate() {
                *low = at(pair + index).0.read_unaligned();
                *high = at(pair + index).1.read_unaligned();
            }
            for (index, (low, high)) in values.into_iter().enumerate() {
                at(pair + index).0.write_unaligned(high);
                at(pair + index).1.write_unaligned(low);
            }
        }
        for pair in whole..pairs {
            let (low, high) = at(pair);
            let (low_value, high_value) = (low.read_unaligned(), high.read_unaligned());
            low.write_unaligned(high_value);
            high.write_unaligned(low_value);
        }
    }
}

/// # Safety
/// As [`swap_rows`].
unsafe fn swap_bytes(first: *mut u8, last: *mut u8, pitch: usize, pairs: usize, bytes: usize) {
    for pair in 0..pairs {
        let low = first.wrapping_add(pair * pitch).cast::<MaybeUninit<u8>>();
        let high = last.wrapping_sub(pair * pitch).cast();
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { core::ptr::swap_nonoverlapping(low, high, bytes) };
    }
}
