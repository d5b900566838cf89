//! Finds ranges of evenly spaced output elements with evenly spaced sources.

use core::ops::Range;

use super::{AxisMap, Table};

impl AxisMap {
    /// The output axis that the map cuts into pieces, and the range of the piece with `index` on it; `None` if no axis
    /// is cut.
    pub(crate) fn piece_around(&self, index: &[usize]) -> Option<(usize, Range<usize>)> {
        match self {
            AxisMap::Segments { axis, pieces } => {
                let number = pieces.partition_point(|piece| piece.end <= index[*axis]);
                let begin = number.checked_sub(1).map_or(0, |before| pieces[before].end);
                Some((*axis, begin..pieces[number].end))
            }
            AxisMap::Ragged { axis, before, lengths, .. } => {
                let (i, length) = (index[*axis].cast_signed(), lengths.at(index).cast_signed());
                // The output coordinate at which the reversed part ends or begins.
                let bound = match before.step {
                    1.. => length - before.start,
                    _ => before.start - length + 1,
                };
                let bound = bound.max(0).unsigned_abs();
                Some((*axis, if i.unsigned_abs() < bound { 0..bound } else { bound..usize::MAX }))
            }
            AxisMap::Affine { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => None,
        }
    }

    /// The table that the map reads, if any. Elements with different table entries are in different pieces.
    pub(crate) fn table(&self) -> Option<&Table> {
        match self {
            AxisMap::Ragged { lengths: table, .. } | AxisMap::Indexed { indices: table, .. } => {
                Some(table)
            }
            AxisMap::Affine { .. } | AxisMap::Segments { .. } | AxisMap::Sum { .. } => None,
        }
    }

    /// The distance between the sources of `index` and `index + steps` in the same piece.
    ///
    /// Law: if `index` and `index + steps` are in the same piece and have the same table entry,
    /// `source_of(index + steps) == source_of(index) + step_of(index, steps)`.
    pub(crate) fn step_of(&self, index: &[usize], steps: &[isize]) -> isize {
        match self {
            AxisMap::Affine { axis, line } => line.step * steps[*axis],
            AxisMap::Segments { axis, pieces } => {
                let number = pieces.partition_point(|piece| piece.end <= index[*axis]);
                pieces[number].line.step * steps[*axis]
            }
            AxisMap::Ragged { axis, before, lengths, after } => {
                let j = before.at(index[*axis].cast_signed());
                let is_reversed = j < lengths.at(index).cast_signed();
                let step = before.step * after.step * steps[*axis];
                if is_reversed { -step } else { step }
            }
            AxisMap::Sum { steps: own, .. } => own.iter().zip(steps).map(|(a, b)| a * b).sum(),
            AxisMap::Indexed { .. } => 0,
        }
    }
}

impl Table {
    pub(crate) fn step_of(&self, steps: &[isize]) -> isize {
        self.strides().iter().zip(steps).map(|(stride, step)| stride * step).sum()
    }
}
