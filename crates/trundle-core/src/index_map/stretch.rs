//! Ranges over which evenly spaced output elements have evenly spaced sources.

use std::ops::Range;

use super::{AxisMap, Table};

impl AxisMap {
    /// The output axis that the map cuts into pieces, and the range of the piece around `index` on that axis.
    /// `None` if the map is one piece.
    pub(crate) fn piece_around(&self, index: &[usize]) -> Option<(usize, Range<usize>)> {
        match self {
            AxisMap::Segments { axis, pieces } => {
                let number = pieces.partition_point(|piece| piece.end <= index[*axis]);
                let begin = number.checked_sub(1).map_or(0, |before| pieces[before].end);
                Some((*axis, begin..pieces[number].end))
            }
            AxisMap::Ragged { axis, before, lengths, .. } => {
                let (i, length) = (index[*axis].cast_signed(), lengths.at(index).cast_signed());
                // The end of the reversed coordinates.
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

    /// Distance between the sources of two elements that are `steps` apart, for elements in the piece around
    /// `index`.
    ///
    /// Law: if `index` and `index + steps` are in one piece and have the same table entry, `source_of(index +
    /// steps)` is `source_of(index) + step_of(index, steps)`.
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
    /// Distance between the table entries of two indices that are `steps` apart.
    pub(crate) fn step_of(&self, steps: &[isize]) -> isize {
        self.strides().iter().zip(steps).map(|(stride, step)| stride * step).sum()
    }
}
