//! Roll-7 of OpenVINO's operation set 7.

use alloc::vec::Vec;

use crate::shape::{check_sizes, normalize_axis};
use crate::{AxisMap, IndexMap, Line, Piece, Result, Shape};

/// Shifts elements cyclically along axes: `out[(i + shift) mod size] = in[i]`.
///
/// Source: the specification of OpenVINO's Roll-7. Two rules are not in the text of the specification: a single shift
/// applies to all axes, as in its second example, and an empty list of axes leaves the tensor unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roll {
    shift: Vec<i64>,
    axes: Vec<i64>,
}

declare! {
    /// Shift elements cyclically along axes (numpy.roll)
    Roll, "roll", "roll(shift=[-1, 2], axes=[0, 1])", {
        /// Positions to shift towards higher indices: one per axis, or one for all; half stands for size / 2
        shift: Integers,
        /// Axes to shift; negative axes count from the end, and shifts of a repeated axis are added
        axes: Axes,
    }
}

impl Roll {
    /// Shifts each axis in `axes` by its entry of `shift`, or all by a single shift.
    ///
    /// Negative axes count from the end. If an axis is repeated, its shifts are added.
    pub fn new(shift: &[i64], axes: &[i64]) -> Roll {
        Roll { shift: shift.to_vec(), axes: axes.to_vec() }
    }

    /// Returns the roll of `axes` by `sign` times half of their size, rounded down; of all axes if the list is empty.
    pub(super) fn by_half(axes: &[i64], shape: &Shape, sign: i64) -> Result<Roll> {
        let all = 0..shape.rank().cast_signed() as i64;
        let axes = if axes.is_empty() { all.collect() } else { axes.to_vec() };
        let half = |axis: &i64| {
            let size = shape[normalize_axis("axis", *axis, shape.rank())?];
            Ok(sign * (size / 2).cast_signed() as i64)
        };
        let shift = axes.iter().map(half).collect::<Result<_>>()?;
        Ok(Roll { shift, axes })
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`SizesDiffer`](crate::ShapeError::SizesDiffer) if `shift` and `axes` have different numbers of entries,
    /// [`AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that the tensor does not have.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let totals = self.total_shifts(shape)?;
        let axes = totals
            .into_iter()
            .zip(shape.iter())
            .enumerate()
            .map(|(axis, (total, size))| rolled(axis, total, *size))
            .collect();
        Ok(IndexMap::new(shape.clone(), shape.clone(), axes))
    }

    /// Finds nonzero shifts that move nothing in a tensor of this shape, because they are multiples of the size of the
    /// axis. Returns each such shift with the size of its axis.
    ///
    /// The list is empty if the operator does not fit the shape.
    pub fn idle_shifts(&self, shape: &Shape) -> Vec<(i64, usize)> {
        if self.total_shifts(shape).is_err() {
            return Vec::new();
        }
        let sizes = self
            .axes
            .iter()
            .filter_map(|axis| Some(shape[normalize_axis("axis", *axis, shape.rank()).ok()?]));
        let each = self.shift.iter().copied().cycle().zip(sizes);
        let is_idle = |(shift, size): &(i64, usize)| {
            *shift != 0 && *size > 1 && i128::from(*shift) % (*size as i128) == 0
        };
        each.filter(is_idle).collect()
    }

    /// The total shift of each axis, modulo the size of the axis.
    fn total_shifts(&self, shape: &Shape) -> Result<Vec<usize>> {
        if self.shift.len() != 1 {
            check_sizes(("shift", self.shift.len()), ("axes", self.axes.len()))?;
        }
        let mut totals = vec![0; shape.rank()];
        let shifts = self.shift.iter().cycle();
        for (&axis, &shift) in self.axes.iter().zip(shifts) {
            let axis = normalize_axis("axis", axis, shape.rank())?;
            // Taking the remainder before adding avoids overflow.
            if shape[axis] > 0 {
                let size = shape[axis] as i128;
                let total = (totals[axis] as i128 + i128::from(shift).rem_euclid(size)) % size;
                totals[axis] = usize::try_from(total).expect("a remainder below a size");
            }
        }
        Ok(totals)
    }
}

/// The map of one axis: the last `shift` elements come first. `shift` is less than `size`, or 0.
fn rolled(axis: usize, shift: usize, size: usize) -> AxisMap {
    let line = |start: isize| Line { start, step: 1 };
    AxisMap::from_pieces(
        axis,
        [
            Piece { end: shift, line: line((size - shift).cast_signed()) },
            Piece { end: size, line: line(-shift.cast_signed()) },
        ],
    )
}
