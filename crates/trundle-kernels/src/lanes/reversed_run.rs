//! The kept and the reversed parts of lanes with a cut each.

use core::ops::Range;

use super::ragged::{LaneTile, Ragged, Run};
use crate::parts::scratch::{Lane, MADE};

#[derive(Clone, Copy)]
pub(crate) struct Runs<'a> {
    /// The run whose source does not depend on the length.
    pub(crate) kept: &'a Run,
    /// The run that reads in the opposite order, from a position that depends on the length.
    pub(crate) reversed: &'a Run,
    pub(crate) reversed_first: bool,
    /// The source row that row 0 of the reversed run reads at length 0, and its change with the length: 1 or -1. Source
    /// rows are counted in the direction of this run.
    start: isize,
    start_per_length: isize,
}

impl<'a> Runs<'a> {
    /// Returns `None` unless the runs read the same source rows in opposite orders.
    pub(crate) fn of(ragged: &'a Ragged<'a>) -> Option<Runs<'a>> {
        let (first, second) = (&ragged.first, &ragged.second);
        let reversed_first = second.src_per_length == 0;
        let (kept, reversed) = if reversed_first { (second, first) } else { (first, second) };
        let fits = reversed.src_stride != 0
            && kept.src_stride == reversed.src_stride.wrapping_neg()
            && kept.src_per_length == 0
            && reversed.src_per_length.unsigned_abs() == reversed.src_stride.unsigned_abs()
            && reversed.src_offset % reversed.src_stride == 0;
        fits.then(|| Runs {
            kept,
            reversed,
            reversed_first,
            start: reversed.src_offset / reversed.src_stride,
            start_per_length: if reversed.src_per_length == reversed.src_stride { 1 } else { -1 },
        })
    }

    /// Returns the source row that row 0 of the kept run reads, if the runs read the same rows. Each next row reads the
    /// source row before.
    pub(crate) fn kept_start(&self) -> Option<isize> {
        let (offset, stride) = (self.kept.src_offset, self.reversed.src_stride);
        (offset % stride == 0).then(|| offset / stride)
    }
}

/// The reversed parts of all lanes of a group.
pub(crate) struct Reversed {
    /// The rows that any lane reverses. All lanes keep the others.
    pub(crate) rows: Range<usize>,
    /// No lane keeps rows outside these.
    pub(crate) kept: Range<usize>,
    /// The least and the greatest start of a lane.
    pub(crate) least: isize,
    pub(crate) most: isize,
    /// The first and the last source row that a lane reads in reverse.
    pub(crate) first: isize,
    pub(crate) last: isize,
}

impl Reversed {
    /// Finds the reversed part of each of the lanes `indices` within `rows`. Returns `None` if no lane has one.
    pub(crate) fn find(
        tile: &LaneTile<'_>,
        runs: &Runs<'_>,
        rows: &Range<usize>,
        indices: Range<usize>,
        lanes: &mut [Lane],
    ) -> Option<Reversed> {
        let mut all = Reversed {
            rows: rows.end..rows.start,
            kept: rows.end..rows.start,
            least: isize::MAX,
            most: isize::MIN,
            first: isize::MAX,
            last: isize::MIN,
        };
        for (index, lane) in indices.zip(lanes) {
            let entry = index.cast_signed() * tile.lane_stride;
            let length = tile.ragged.lengths[tile.lane.wrapping_add_signed(entry)];
            let cut = tile.ragged.cut(length).clamp(rows.start, rows.end);
            let Range { start: begin, end } =
                if runs.reversed_first { rows.start..cut } else { cut..rows.end };
            *lane = Lane {
                begin,
                end,
                start: runs.start + runs.start_per_length * length.cast_signed(),
            };
            let kept = if runs.reversed_first { end..rows.end } else { rows.start..begin };
            all.kept = all.kept.start.min(kept.start)..all.kept.end.max(kept.end);
            if begin < end {
                all.rows = all.rows.start.min(begin)..all.rows.end.max(end);
                all.least = all.least.min(lane.start);
                all.most = all.most.max(lane.start);
                all.first = all.first.min(begin.cast_signed() + lane.start);
                all.last = all.last.max(end.cast_signed() - 1 + lane.start);
            }
        }
        (!all.rows.is_empty()).then_some(all)
    }

    /// Returns the largest shift of a lane in rows.
    pub(crate) fn spread(&self) -> usize {
        (self.most - self.least).unsigned_abs()
    }

    /// Returns how many bits of the shifts passes handle for a group of `rows` rows: no more than keep the shifts
    /// within the group.
    pub(crate) fn bits(&self, rows: usize) -> usize {
        bits_of(self.spread()).min(bits_of(rows - 1))
    }

    /// Returns how many rows of each line are packed: all that the passes read.
    pub(crate) fn packed_rows(&self, rows: usize) -> usize {
        (self.rows.len() - 1 + (1 << self.bits(rows))).min(self.read_rows())
    }

    /// Returns how many rows of each line are made.
    pub(crate) fn made_rows(&self) -> usize {
        self.rows.len().next_multiple_of(MADE)
    }

    /// Counts source rows from the first one of a lane without a shift to the last of any lane.
    fn read_rows(&self) -> usize {
        (self.last - self.least - self.rows.start.cast_signed() + 1).unsigned_abs()
    }
}

pub(crate) fn bits_of(index: usize) -> usize {
    (usize::BITS - index.leading_zeros()) as usize
}
