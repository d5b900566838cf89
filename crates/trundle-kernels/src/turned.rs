//! What is turned of lanes that are each cut at a place of their own.

use std::ops::Range;

use super::scratch::MADE;
use super::{LaneTile, Ragged, Run};

#[derive(Clone, Copy)]
pub(super) struct Runs<'a> {
    /// Where it reads does not depend on the length.
    pub(super) kept: &'a Run,
    /// It reads in the opposite order, from where the length says.
    pub(super) turned: &'a Run,
    /// Whether the turned run is the first.
    pub(super) turned_first: bool,
    /// The number of the source row that row 0 of the turned run reads in a lane of length 0, and
    /// how it moves with the length: 1 or -1. Numbers count in the direction of that run.
    start: isize,
    start_per_length: isize,
}

impl<'a> Runs<'a> {
    /// The runs, if they walk the same rows of the source in opposite orders.
    pub(super) fn of(ragged: &'a Ragged<'a>) -> Option<Runs<'a>> {
        let (first, second) = (&ragged.first, &ragged.second);
        let turned_first = second.src_per_length == 0;
        let (kept, turned) = if turned_first { (second, first) } else { (first, second) };
        let fits = turned.src_stride != 0
            && kept.src_stride == turned.src_stride.wrapping_neg()
            && kept.src_per_length == 0
            && turned.src_per_length.unsigned_abs() == turned.src_stride.unsigned_abs()
            && turned.src_offset % turned.src_stride == 0;
        fits.then(|| Runs {
            kept,
            turned,
            turned_first,
            start: turned.src_offset / turned.src_stride,
            start_per_length: if turned.src_per_length == turned.src_stride { 1 } else { -1 },
        })
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Lane {
    /// The rows that are turned; empty if none is.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// The number of the source row that row 0 reads.
    pub(super) start: isize,
}

/// What is turned of all lanes of a group.
pub(super) struct Turned {
    /// Rows outside these are kept in every lane.
    pub(super) rows: Range<usize>,
    /// No lane is kept outside these.
    pub(super) kept: Range<usize>,
    /// The least and the greatest start of a lane.
    pub(super) least: isize,
    pub(super) most: isize,
    /// The first and the last source row that a lane reads.
    pub(super) first: isize,
    pub(super) last: isize,
}

impl Turned {
    /// Finds what is turned in `rows` of the lanes `numbers` of a tile, and of each lane; `None` if
    /// nothing is.
    pub(super) fn find(
        tile: &LaneTile<'_>,
        runs: &Runs<'_>,
        rows: &Range<usize>,
        numbers: Range<usize>,
        lanes: &mut [Lane],
    ) -> Option<Turned> {
        let mut all = Turned {
            rows: rows.end..rows.start,
            kept: rows.end..rows.start,
            least: isize::MAX,
            most: isize::MIN,
            first: isize::MAX,
            last: isize::MIN,
        };
        for (number, lane) in numbers.zip(lanes) {
            let entry = number.cast_signed() * tile.lane_stride;
            let length = tile.ragged.lengths[tile.lane.wrapping_add_signed(entry)];
            let cut = tile.ragged.cut(length).clamp(rows.start, rows.end);
            let Range { start: begin, end } =
                if runs.turned_first { rows.start..cut } else { cut..rows.end };
            *lane = Lane {
                begin,
                end,
                start: runs.start + runs.start_per_length * length.cast_signed(),
            };
            let kept = if runs.turned_first { end..rows.end } else { rows.start..begin };
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
    pub(super) fn spread(&self) -> usize {
        (self.most - self.least).unsigned_abs()
    }

    /// How many bits of the shifts are done by passes, in a group of so many rows: no more than
    /// bring rows of the group together.
    pub(super) fn bits(&self, rows: usize) -> usize {
        bits_of(self.spread()).min(bits_of(rows - 1))
    }

    /// How many rows are packed of each line, in a group of so many rows: all that are shifted to
    /// turned rows.
    pub(super) fn packed_rows(&self, rows: usize) -> usize {
        (self.rows.len() - 1 + (1 << self.bits(rows))).min(self.read_rows())
    }

    /// How many rows are made of each line: all that are turned, and those that are made with them.
    pub(super) fn made_rows(&self) -> usize {
        self.rows.len().next_multiple_of(MADE)
    }

    /// How many rows are read from the first on that a lane without a shift reads.
    fn read_rows(&self) -> usize {
        (self.last - self.least - self.rows.start.cast_signed() + 1).unsigned_abs()
    }
}

/// How many bits a number has.
pub(super) fn bits_of(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()) as usize
}
