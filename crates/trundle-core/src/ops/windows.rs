//! numpy's `sliding_window_view`.

use alloc::vec::Vec;

use crate::shape::{check_sizes, normalize_distinct_axes};
use crate::{AxisMap, IndexMap, OpError, Result, Shape, ShapeError};

/// Makes sliding windows along some axes. Each such axis becomes the axis of the windows, and a new axis at the end has
/// the elements of one window.
///
/// Source: the documentation of numpy's `sliding_window_view`; step and dilation are as in PyTorch's `unfold`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Windows {
    size: Vec<i64>,
    step: Vec<i64>,
    axes: Vec<i64>,
    dilation: Vec<i64>,
}

declare! {
    /// Extract sliding windows (numpy's sliding_window_view, im2col)
    Windows, "windows", "windows(size=[3, 3], step=[1, 1], axes=[0, 1])", {
        /// Window size along each axis
        size: Integers,
        /// Distance between windows (default: 1)
        step: Integers = [],
        /// Axes, each once (default: all axes in order)
        axes: Axes = [],
        /// Distance between elements of a window (default: 1)
        dilation: Integers = [],
    }
}

impl Windows {
    /// Makes windows of `size` along `axes`, or along all axes if `axes` is empty. `step` is the distance between
    /// windows, and `dilation` the distance between elements of a window; both are 1 if empty.
    pub fn new(size: &[i64], step: &[i64], axes: &[i64], dilation: &[i64]) -> Windows {
        let [size, step, axes, dilation] = [size, step, axes, dilation].map(<[i64]>::to_vec);
        Windows { size, step, axes, dilation }
    }

    /// The map for a tensor of this shape.
    ///
    /// Each axis with windows has their number as its size, and the sizes of a window follow at the end.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] or [`ShapeError::RepeatedAxis`] for wrong axes, [`ShapeError::SizesDiffer`] if
    /// there is not one number for each axis, [`OpError::NumberOutOfRange`] for a number below 1,
    /// [`OpError::WindowTooLarge`] if a window is larger than its axis, [`ShapeError::TooLarge`] if the result cannot
    /// be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let axes = self.axes_of(shape)?;
        let [size, step, dilation] = [
            positive("size", &self.size, axes.len())?,
            positive("step", &self.step, axes.len())?,
            positive("dilation", &self.dilation, axes.len())?,
        ];
        let too_large = || ShapeError::TooLarge { what: format!("shape {shape} by {self}") };
        let rank = shape.rank() + axes.len();
        let mut sizes = shape.sizes().to_vec();
        let steps = |own: usize| {
            let mut steps = vec![0; rank];
            steps[own] = 1isize;
            steps
        };
        let mut sums: Vec<Vec<isize>> = (0..shape.rank()).map(steps).collect();
        for (at, axis) in axes.iter().enumerate() {
            let extent =
                (size[at] - 1).checked_mul(dilation[at]).and_then(|far| far.checked_add(1));
            let extent = extent.ok_or_else(too_large)?;
            let Some(left) = shape[*axis].checked_sub(extent) else {
                return Err(
                    OpError::WindowTooLarge { axis: *axis, extent, size: shape[*axis] }.into()
                );
            };
            sizes[*axis] = left / step[at] + 1;
            // The step of a single window is not needed, and may be larger than the axis.
            sums[*axis][*axis] = if sizes[*axis] == 1 { 0 } else { step[at].cast_signed() };
            sums[*axis][shape.rank() + at] = dilation[at].cast_signed();
        }
        sizes.extend(&size);
        let out = Shape::new(sizes).map_err(|_| too_large())?;
        let sums = sums.into_iter().map(|steps| AxisMap::Sum { start: 0, steps });
        Ok(IndexMap::new(out, shape.clone(), sums.collect()))
    }

    fn axes_of(&self, shape: &Shape) -> Result<Vec<usize>> {
        match self.axes.is_empty() {
            true => Ok((0..shape.rank()).collect()),
            false => Ok(normalize_distinct_axes("axes", &self.axes, shape.rank())?),
        }
    }
}

/// One positive number for each axis; 1 for each if there are no numbers.
fn positive(argument: &'static str, numbers: &[i64], axes: usize) -> Result<Vec<usize>> {
    if numbers.is_empty() && argument != "size" {
        return Ok(vec![1; axes]);
    }
    check_sizes((argument, numbers.len()), ("the axes", axes))?;
    let one = |number: &i64| {
        let refusal =
            OpError::NumberOutOfRange { argument, number: *number, expected: "1 or more" };
        Ok(usize::try_from(*number).ok().filter(|one| *one > 0).ok_or(refusal)?)
    };
    numbers.iter().map(one).collect()
}
