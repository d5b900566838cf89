//! Functions from output coordinates to the coordinate on one source axis.

use alloc::vec::Vec;

use super::Table;
use crate::shape::steps_to;

/// The line `start + step · i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The coordinate at index 0.
    pub start: isize,
    /// The difference between the coordinates of neighbouring indices; 0 repeats one coordinate.
    pub step: isize,
}

crate::fingerprint!(struct Line { start, step });

impl Line {
    /// The identity.
    pub const IDENTITY: Line = Line { start: 0, step: 1 };

    /// The coordinates `size - 1, ..., 1, 0`.
    pub fn reversal(size: usize) -> Line {
        Line { start: size.cast_signed() - 1, step: -1 }
    }

    /// The coordinate at `i`.
    pub fn at(self, i: isize) -> isize {
        // The result cannot overflow for an index within the axis. Another may wrap around.
        self.start.wrapping_add(self.step.wrapping_mul(i))
    }

    /// Composes two lines. Law: `a.then(b).at(i) == b.at(a.at(i))`.
    #[must_use]
    pub fn then(self, next: Line) -> Line {
        Line { start: next.at(self.start), step: self.step.wrapping_mul(next.step) }
    }

    /// The inverse of a line with step 1 or -1. Law: `l.then(l.inverse())` is the identity.
    pub(super) fn inverse(self) -> Option<Line> {
        matches!(self.step, 1 | -1)
            .then(|| Line { start: -self.start * self.step, step: self.step })
    }
}

/// A range of indices with one line. It starts at the end of the previous piece, or at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The first index after the piece.
    pub end: usize,
    /// Maps an index, counted from the start of the axis, to the source coordinate.
    pub line: Line,
}

crate::fingerprint!(struct Piece { end, line });

/// A function from output indices to the coordinate on one source axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AxisMap {
    /// The coordinate is `line.at(i)`, where i is the output coordinate on `axis`: transposes, flips, slices.
    Affine {
        /// The output axis.
        axis: usize,
        /// Maps the output coordinate to the source coordinate.
        line: Line,
    },
    /// Each piece of `axis` has its own line: rolls.
    Segments {
        /// The output axis.
        axis: usize,
        /// At least two nonempty pieces, in order. The last one ends at the size of the axis.
        pieces: Vec<Piece>,
    },
    /// Reverses the first `length` coordinates and keeps the rest: reverse subsequences.
    ///
    /// Let `length` be the table entry for the output index, and let j be `before.at(i)`, where i is the output
    /// coordinate on `axis`. The source coordinate is `after.at(length - 1 - j)` if j < `length`, and
    /// `after.at(j)` otherwise.
    Ragged {
        /// The output axis. The lengths do not vary along it.
        axis: usize,
        /// Maps the output coordinate to the reversed axis; the step is 1 or -1.
        before: Line,
        /// The number of reversed coordinates, as a function of the output coordinates on the other axes.
        lengths: Table,
        /// Maps the coordinate on the reversed axis to the source; the step is 1 or -1.
        after: Line,
    },
    /// The coordinate is `start + Σ steps[axis] · i[axis]`, summed over all output axes: windows.
    Sum {
        /// The source coordinate at output index 0, 0, ..., 0.
        start: isize,
        /// For each output axis, the increment of the source coordinate for the next index on that axis.
        steps: Vec<isize>,
    },
    /// The coordinate is `line.at(entry)`, where `entry` is the table entry for the output index: gathers.
    Indexed {
        /// The table.
        indices: Table,
        /// Maps table entries to source coordinates.
        line: Line,
    },
}

crate::fingerprint!(enum AxisMap {
    "affine" Affine { axis, line },
    "segments" Segments { axis, pieces },
    "ragged" Ragged { axis, before, lengths, after },
    "sum" Sum { start, steps },
    "indexed" Indexed { indices, line },
});

impl AxisMap {
    /// The identity on `axis`.
    pub fn identity(axis: usize) -> AxisMap {
        AxisMap::Affine { axis, line: Line::IDENTITY }
    }

    /// The output axis that the map depends on, if there is exactly one.
    pub fn axis(&self) -> Option<usize> {
        let mut axes = self.axes();
        axes.next().filter(|_| axes.next().is_none())
    }

    /// The output axes that the map depends on.
    pub fn axes(&self) -> impl Iterator<Item = usize> + '_ {
        let (one, several) = match self {
            AxisMap::Affine { axis, .. }
            | AxisMap::Segments { axis, .. }
            | AxisMap::Ragged { axis, .. } => (Some(*axis), &[][..]),
            AxisMap::Sum { steps, .. } => (None, &steps[..]),
            AxisMap::Indexed { indices, .. } => (None, indices.strides()),
        };
        let several = several.iter().enumerate().filter(|(_, step)| **step != 0);
        one.into_iter().chain(several.map(|(axis, _)| axis))
    }

    /// The source coordinate for an output index, which must lie within the output's shape.
    pub(crate) fn source_of(&self, index: &[usize]) -> usize {
        let coordinate = match self {
            AxisMap::Affine { axis, line } => line.at(index[*axis].cast_signed()),
            AxisMap::Segments { axis, pieces } => {
                let i = index[*axis];
                pieces[pieces.partition_point(|piece| piece.end <= i)].line.at(i.cast_signed())
            }
            AxisMap::Ragged { axis, before, lengths, after } => {
                let j = before.at(index[*axis].cast_signed());
                let length = lengths.at(index).cast_signed();
                after.at(if j < length { length - 1 - j } else { j })
            }
            AxisMap::Sum { start, steps } => start + steps_to(index, steps),
            AxisMap::Indexed { indices, line } => line.at(indices.at(index).cast_signed()),
        };
        coordinate.unsigned_abs()
    }

    pub(crate) fn is_ragged(&self) -> bool {
        matches!(self, AxisMap::Ragged { .. })
    }

    pub(crate) fn lines(&self) -> usize {
        match self {
            AxisMap::Segments { pieces, .. } => pieces.len(),
            AxisMap::Affine { .. }
            | AxisMap::Ragged { .. }
            | AxisMap::Sum { .. }
            | AxisMap::Indexed { .. } => 1,
        }
    }

    /// The pieces of an affine or segmented map over an axis of `size`; `None` for other maps.
    pub(super) fn pieces(&self, size: usize) -> Option<Vec<Piece>> {
        match self {
            AxisMap::Affine { line, .. } => Some(vec![Piece { end: size, line: *line }]),
            AxisMap::Segments { pieces, .. } => Some(pieces.clone()),
            AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => None,
        }
    }

    /// Builds a map from consecutive pieces that cover the axis, without empty pieces, and with adjacent pieces on one
    /// line merged.
    ///
    /// Law: at every index i, the map has the same value as the given piece that contains i.
    pub(crate) fn from_pieces(axis: usize, pieces: impl IntoIterator<Item = Piece>) -> AxisMap {
        let mut merged: Vec<Piece> = Vec::new();
        let mut begin = 0;
        for mut piece in pieces {
            let reached = merged.last().map_or(0, |last| last.end);
            if piece.end == reached {
                continue;
            }
            // A piece of one index may have any step; use 1.
            if piece.end - reached == 1 {
                let at = reached.cast_signed();
                piece.line = Line { start: piece.line.at(at) - at, step: 1 };
            }
            match merged.last_mut().and_then(|last| Some((joined(last, begin, &piece)?, last))) {
                Some((line, last)) => *last = Piece { end: piece.end, line },
                None => {
                    begin = reached;
                    merged.push(piece);
                }
            }
        }
        match merged[..] {
            [] => AxisMap::identity(axis),
            [Piece { line, .. }] => AxisMap::Affine { axis, line },
            _ => AxisMap::Segments { axis, pieces: merged },
        }
    }

    /// Builds a ragged map in its simplest form over nonzero `sizes`; equal lengths become two pieces.
    pub(super) fn ragged(
        axis: usize,
        before: Line,
        lengths: &Table,
        after: Line,
        sizes: &[usize],
    ) -> AxisMap {
        let lengths = lengths.simplest(sizes);
        match lengths.uniform() {
            Some(length) => {
                let reversal = Table::reversal(length, ROW_END);
                let row = [Piece { end: sizes[axis], line: before }];
                let pieces = follow(&row, &reversal)
                    .into_iter()
                    .map(|piece| Piece { end: piece.end, line: piece.line.then(after) });
                AxisMap::from_pieces(axis, pieces)
            }
            None => AxisMap::Ragged { axis, before, lengths, after },
        }
    }
}

/// At most this many pieces replace a table: each becomes a box, which costs more than reading table entries.
const MOST_PIECES: usize = 64;

/// Pieces replace a table only if they have at least this many indices on average (a guess).
const LEAST_PIECE: usize = 4;

impl AxisMap {
    fn constant(coordinate: isize, sizes: &[usize]) -> AxisMap {
        match sizes {
            [] => AxisMap::Sum { start: coordinate, steps: Vec::new() },
            [size, ..] => {
                let line = Line { start: coordinate, step: 0 };
                AxisMap::from_pieces(0, [Piece { end: *size, line }])
            }
        }
    }

    /// Builds a sum in its simplest form over `sizes`; a sum over one axis becomes affine.
    pub(super) fn sum(start: isize, mut steps: Vec<isize>, sizes: &[usize]) -> AxisMap {
        for (step, size) in steps.iter_mut().zip(sizes) {
            if *size == 1 {
                *step = 0;
            }
        }
        let mut varying = (0..steps.len()).filter(|axis| steps[*axis] != 0);
        match (varying.next(), varying.next()) {
            (None, _) => AxisMap::constant(start, sizes),
            (Some(axis), None) => {
                let line = Line { start, step: steps[axis] };
                AxisMap::from_pieces(axis, [Piece { end: sizes[axis], line }])
            }
            _ => AxisMap::Sum { start, steps },
        }
    }

    /// Builds a gather in its simplest form over nonzero `sizes`; few linear pieces replace the table.
    pub(super) fn indexed(indices: &Table, line: Line, sizes: &[usize]) -> AxisMap {
        let indices = indices.within(sizes);
        let varying = {
            let mut varying = indices.varying_axes();
            (varying.next(), varying.next())
        };
        match varying {
            (None, _) => {
                let one = indices.uniform().unwrap_or_default();
                AxisMap::constant(line.at(one.cast_signed()), sizes)
            }
            (Some(axis), None) => match lines_of(indices.along(axis, sizes[axis]), sizes[axis]) {
                Some(pieces) => {
                    let through = |Piece { end, line: own }| Piece { end, line: own.then(line) };
                    AxisMap::from_pieces(axis, pieces.into_iter().map(through))
                }
                None => AxisMap::Indexed { indices, line },
            },
            _ => AxisMap::Indexed { indices, line },
        }
    }
}

/// Divides `indices` into linear pieces; `None` if they are too many to replace the table.
fn lines_of(indices: impl Iterator<Item = usize>, count: usize) -> Option<Vec<Piece>> {
    let most = MOST_PIECES.min(count / LEAST_PIECE).max(2);
    let mut pieces: Vec<Piece> = Vec::new();
    // The start of the last piece, and the table index there.
    let (mut begin, mut first) = (0, 0);
    for (i, index) in indices.enumerate() {
        let (at, index) = (i.cast_signed(), index.cast_signed());
        match pieces.last_mut() {
            // The second index of a piece determines its step.
            Some(last) if i == begin + 1 => {
                let step = index - first;
                *last = Piece { end: i + 1, line: Line { start: index - step * at, step } };
            }
            Some(last) if last.line.at(at) == index => last.end = i + 1,
            _ => {
                if pieces.len() == most {
                    return None;
                }
                (begin, first) = (i, index);
                pieces.push(Piece { end: i + 1, line: Line { start: index - at, step: 1 } });
            }
        }
    }
    Some(pieces)
}

/// The end of the last piece of a reversed row whose size is unknown; larger than any coordinate.
const ROW_END: usize = isize::MAX.unsigned_abs();

/// The line through two adjacent pieces, if there is one; the first piece starts at `begin`.
fn joined(first: &Piece, begin: usize, second: &Piece) -> Option<Line> {
    let single = |begin: usize, end: usize| end - begin == 1;
    let (at, end) = (begin.cast_signed(), first.end.cast_signed());
    if first.line == second.line {
        return Some(first.line);
    }
    // A single index belongs to any line through it.
    if single(begin, first.end) && second.line.at(at) == first.line.at(at) {
        return Some(second.line);
    }
    if single(first.end, second.end) && first.line.at(end) == second.line.at(end) {
        return Some(first.line);
    }
    // Two single indices in descending order are a reversal.
    if single(begin, first.end)
        && single(first.end, second.end)
        && second.line.at(end) - first.line.at(at) == -1
    {
        return Some(Line { start: first.line.at(at) + at, step: -1 });
    }
    None
}

/// Composes two functions given as pieces. All coordinates of `first` must lie in `second`.
///
/// Law: `result(i) == second(first(i))` for every i.
pub(super) fn follow(first: &[Piece], second: &[Piece]) -> Vec<Piece> {
    let mut followed = Vec::new();
    let mut begin = 0;
    for piece in first {
        let mut at = begin;
        while at < piece.end {
            let coordinate = piece.line.at(at.cast_signed());
            let number = second.partition_point(|other| other.end.cast_signed() <= coordinate);
            let other = &second[number];
            // The number of indices whose coordinates stay within `other`.
            let stretch = match piece.line.step {
                0 => piece.end - at,
                step if step > 0 => (other.end.cast_signed() - coordinate)
                    .unsigned_abs()
                    .div_ceil(step.unsigned_abs()),
                step => {
                    let floor = if number == 0 { 0 } else { second[number - 1].end.cast_signed() };
                    (coordinate - floor).unsigned_abs() / step.unsigned_abs() + 1
                }
            };
            let end = piece.end.min(at.saturating_add(stretch));
            followed.push(Piece { end, line: piece.line.then(other.line) });
            at = end;
        }
        begin = piece.end;
    }
    followed
}
