//! numpy's `rot90`.

use alloc::vec::Vec;

use super::out_of_range;
use crate::shape::normalize_axis;
use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError};

/// Rotates the tensor `k` times by 90 degrees in the plane of two axes, from the first towards the second.
///
/// For one rotation of a matrix, `out[i, j] = in[j, size - 1 - i]`, where `size` is the size of the second axis.
///
/// Source: the documentation of numpy's `rot90`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rot90 {
    k: i64,
    axes: Vec<i64>,
}

declare! {
    /// Rotate by quarter turns (numpy.rot90)
    Rot90, "rot90", "rot90(k=1, axes=[0, 1])", {
        /// Quarter turns from the first axis to the second; may be negative
        k: Integer = [1],
        /// The two axes to rotate; negative axes count from the end
        axes: Axes = [0, 1],
    }
}

impl Rot90 {
    /// Rotates `k` times in the plane of two different axes. A negative `k` rotates the other way. Negative axes count
    /// from the end.
    pub fn new(k: i64, axes: &[i64]) -> Rot90 {
        Rot90 { k, axes: axes.to_vec() }
    }

    /// The map for a tensor of this shape. An odd number of rotations swaps the sizes of both axes.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if `axes` does not have two entries,
    /// [`ShapeError::AxisOutOfRange`] for an axis that the tensor does not have, [`ShapeError::RepeatedAxis`] if both
    /// axes are the same.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let [first, second] = self.axes[..] else {
            return Err(out_of_range("number of axes", self.axes.len(), "2"));
        };
        let from = normalize_axis("axis", first, shape.rank())?;
        let to = normalize_axis("axis", second, shape.rank())?;
        if from == to {
            return Err(ShapeError::RepeatedAxis { argument: "axes", axis: second }.into());
        }
        let forward = AxisMap::identity;
        let backward = |axis, size| AxisMap::Affine { axis, line: Line::reversal(size) };
        let (mut sizes, mut axes) = (shape.sizes().to_vec(), Vec::new());
        axes.extend((0..shape.rank()).map(forward));
        (axes[from], axes[to]) = match self.k.rem_euclid(4) {
            0 => (forward(from), forward(to)),
            1 => (forward(to), backward(from, shape[to])),
            2 => (backward(from, shape[from]), backward(to, shape[to])),
            _ => (backward(to, shape[from]), forward(from)),
        };
        if self.k.rem_euclid(2) == 1 {
            sizes.swap(from, to);
        }
        Ok(IndexMap::new(Shape::new(sizes)?, shape.clone(), axes))
    }
}
