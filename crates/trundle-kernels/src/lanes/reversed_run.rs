//! What is reversed of lanes that are each cut at a place of their own.

use std::ops::Range;

use super::ragged::{LaneTile, Ragged, Run};
use crate::parts::scratch::{Lane, MADE};

#[derive(Clone, Copy)]
pub(crate) struct Runs<'a> {
    /// Where it reads does not depend on the length.
    pub(crate) kept: &'a Run,
    /// It reads in the opposite order, from where the length says.
    pub(crate) reversed: &'a Run,
    /// Whether the reversed run is the first.
    pub(crate) reversed_first: bool,
    /// The index of the source row that row 0 of the reversed run reads in a lane of length 0, and
    /// how it moves with the length: 1 or -1. Indices count in the direction of that run.
    start: isize,
    start_per_length: isize,
}

impl<'a> Runs<'a> {
    /// The runs, if they walk the same rows of the source in opposite orders.
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

    /// The index of the source row that row 0 of the kept run reads, if it reads whole rows; the next
    /// reads the one before.
    pub(crate) fn kept_start(&self) -> Option<isize> {
        let (offset, stride) = (self.kept.src_offset, self.reversed.src_stride);
        (offset % stride == 0).then(|| offset / stride)
    }
}

/// What is reversed of all lanes of a group.
pub(crate) struct Reversed {
    /// Rows outside these are kept in every lane.
    pub(crate) rows: Range<usize>,
    /// No lane is kept outside these.
    pub(crate) kept: Range<usize>,
    /// The least and the greatest start of a lane.
    pub(crate) least: isize,
    pub(crate) most: isize,
    /// The first and the last source row that a lane reads.
    pub(crate) first: isize,
    pub(crate) last: isize,
}

impl Reversed {
    /// Finds what is reversed in `rows` of the lanes `indices` of a tile, and of each lane; `None`
    /// if nothing is.
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

    /// The most rows that a lane is shifted by.
    pub(crate) fn spread(&self) -> usize {
        (self.most - self.least).unsigned_abs()
    }

    /// How many bits of the shifts are done by passes, in a group of so many rows: no more than
    /// bring rows of the group together.
    pub(crate) fn bits(&self, rows: usize) -> usize {
        bits_of(self.spread()).min(bits_of(rows - 1))
    }

    /// How many rows are packed of each line, in a group of so many rows: all that are shifted to
    /// reversed rows.
    pub(crate) fn packed_rows(&self, rows: usize) -> usize {
        (self.rows.len() - 1 + (1 << self.bits(rows))).min(self.read_rows())
    }

    /// How many rows are made of each line: all that are reversed, and those that are made with
    /// them.
    pub(crate) fn made_rows(&self) -> usize {
        self.rows.len().next_multiple_of(MADE)
    }

    /// How many rows are read from the first on that a lane without a shift reads.
    fn read_rows(&self) -> usize {
        (self.last - self.least - self.rows.start.cast_signed() + 1).unsigned_abs()
    }
}

/// How many bits a number has.
pub(crate) fn bits_of(index: usize) -> usize {
    (usize::BITS - index.leading_zeros()) as usize
}
