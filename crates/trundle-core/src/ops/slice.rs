//! Slice of ONNX.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::out_of_range;
use crate::shape::{check_sizes, normalize_axis};
use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError};

/// Slices along some axes, from a start up to, but excluding, a stop: `out[i] = in[start + step · i]`.
///
/// Source: the specification of ONNX's Slice, opset 13.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    starts: Vec<i64>,
    stops: Vec<i64>,
    axes: Vec<i64>,
    steps: Vec<i64>,
}

declare! {
    /// Keep the elements from a start to a stop, with a step, along axes
    Slice, "slice", "slice(starts=[0], stops=[5], axes=[1], steps=[2])", {
        /// First index of each slice; negative indices count from the end
        starts: Integers,
        /// Index after the last of each slice; negative indices count from the end
        stops: Integers,
        /// Axes to slice (default: the first axes)
        axes: Axes = [],
        /// Steps between elements of each slice (default: 1)
        steps: Integers = [],
    }
}

impl Slice {
    /// Slices along `axes`. Each list has one entry for each sliced axis.
    ///
    /// Negative axes, starts and stops count from the end. Starts and stops outside the axis are clamped to it. A
    /// negative step runs backwards; the stop `i64::MIN` then includes the first element. Empty `axes` are the first
    /// axes. Empty `steps` are 1.
    pub fn new(starts: &[i64], stops: &[i64], axes: &[i64], steps: &[i64]) -> Slice {
        Slice {
            starts: starts.to_vec(),
            stops: stops.to_vec(),
            axes: axes.to_vec(),
            steps: steps.to_vec(),
        }
    }

    /// Creates consecutive slices with the given sizes, which cover an axis of a tensor of this shape. A negative axis
    /// counts from the end.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] for an axis that the tensor does not have,
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if `sizes` is empty,
    /// [`ShapeError::SizesDiffer`] if the sizes do not add up to the size of the axis.
    pub fn parts(
        shape: &Shape,
        axis: i64,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Vec<Slice>> {
        let size = shape[normalize_axis("axis", axis, shape.rank())?];
        if sizes.len() == 0 {
            return Err(out_of_range("the number of parts", 0, "1 or more"));
        }
        let signed = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (mut slices, mut end) = (Vec::with_capacity(sizes.len()), 0usize);
        for size in sizes {
            let start = end;
            end = end.saturating_add(size);
            slices.push(Slice::new(&[signed(start)], &[signed(end)], &[axis], &[1]));
        }
        check_sizes(("the parts together", end), ("the split axis", size))?;
        Ok(slices)
    }

    /// The map for a tensor of this shape. The output has the size of the slice on each sliced axis.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] for lists of different lengths, [`ShapeError::AxisOutOfRange`] or
    /// [`ShapeError::RepeatedAxis`] for wrong `axes`, [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange)
    /// for a step of 0.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let sliced = self.starts.len();
        self.check_lists()?;
        let (mut sizes, mut lines) = (shape.sizes().to_vec(), vec![Line::IDENTITY; shape.rank()]);
        let mut seen = vec![false; shape.rank()];
        for number in 0..sliced {
            let axis = self.axes.get(number).copied().unwrap_or(number.cast_signed() as i64);
            let step = self.steps.get(number).copied().unwrap_or(1);
            let front = normalize_axis("axis", axis, shape.rank())?;
            if core::mem::replace(&mut seen[front], true) {
                return Err(ShapeError::RepeatedAxis { argument: "axes", axis }.into());
            }
            if step == 0 {
                return Err(out_of_range("step", 0, "a number other than 0"));
            }
            let (start, stop) = (self.starts[number], self.stops[number]);
            (lines[front], sizes[front]) = slice(start, stop, step, shape[front]);
        }
        let axes = lines.into_iter().enumerate();
        let axes = axes.map(|(axis, line)| AxisMap::Affine { axis, line }).collect();
        Ok(IndexMap::new(Shape::new(sizes)?, shape.clone(), axes))
    }

    fn check_lists(&self) -> Result<()> {
        for (left, list, optional) in [
            ("stops", &self.stops, false),
            ("axes", &self.axes, true),
            ("steps", &self.steps, true),
        ] {
            if !(optional && list.is_empty()) {
                check_sizes((left, list.len()), ("starts", self.starts.len()))?;
            }
        }
        Ok(())
    }
}

/// The coordinates of a slice on an axis, and their number. The step must not be 0.
fn slice(start: i64, stop: i64, step: i64, size: usize) -> (Line, usize) {
    let size = size as i128;
    // Backwards, the furthest stop is before the first element. A start before the first element becomes the first
    // element; in numpy, the slice would be empty.
    let (starts, stops) =
        if step > 0 { (0..=size, 0..=size) } else { (0.min(size - 1)..=size - 1, -1..=size - 1) };
    let within = |bound: i64, bounds: RangeInclusive<i128>| {
        let from_front = i128::from(bound) + if bound < 0 { size } else { 0 };
        from_front.clamp(*bounds.start(), *bounds.end())
    };
    let (start, stop, step) = (within(start, starts), within(stop, stops), i128::from(step));
    let distance = (stop - start) * step.signum();
    let count = if distance > 0 { (distance - 1) / step.abs() + 1 } else { 0 };
    // The step of a single element is not needed, and might overflow.
    let step = if count > 1 { step } else { 1 };
    let narrow = |number: i128| isize::try_from(number).unwrap_or_default();
    (Line { start: narrow(start), step: narrow(step) }, narrow(count).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn parts_fill_their_axis() {
        let shape = Shape::new([2, 5]).unwrap();
        let parts = |axis, sizes: &[usize]| Slice::parts(&shape, axis, sizes.iter().copied());
        let sources: Vec<Vec<usize>> = parts(-1, &[1, 0, 4])
            .unwrap()
            .iter()
            .map(|part| {
                let map = part.index_map(&shape).unwrap();
                assert_eq!(map.out_shape()[0], 2);
                (0..map.out_shape()[1]).map(|at| map.source_of(&[1, at])[1]).collect()
            })
            .collect();
        assert_eq!(sources, [vec![0], vec![], vec![1, 2, 3, 4]]);
        let refusal = |axis, sizes: &[usize]| parts(axis, sizes).unwrap_err().to_string();
        let adds = "the parts together and the split axis must have the same length";
        assert_eq!(refusal(1, &[2, 2]), format!("{adds}, got 4 and 5"));
        assert_eq!(refusal(1, &[usize::MAX, 6]), format!("{adds}, got {} and 5", usize::MAX));
        assert_eq!(refusal(0, &[]), "the number of parts 0 is out of range: expected 1 or more");
        assert_eq!(refusal(2, &[]), "axis 2 is out of range for rank 2: expected -2..=1");
    }
}
