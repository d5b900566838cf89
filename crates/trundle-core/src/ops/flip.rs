//! numpy's `flip`, OpenVINO's Reverse-1.

use alloc::vec::Vec;

use crate::shape::normalize_distinct_axes;
use crate::{AxisMap, IndexMap, Line, Result, Shape};

/// Reverses the elements along some axes: `out[i] = in[size - 1 - i]`.
///
/// Source: the documentation of numpy's `flip`; the specification of OpenVINO's Reverse-1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flip {
    axes: Vec<i64>,
}

declare! {
    /// Reverse whole axes (numpy.flip)
    Flip, "flip", "flip(axes=[1])", {
        /// Axes to reverse; negative axes count from the end
        axes: Axes,
    }
}

impl Flip {
    /// Reverses the elements along `axes`, each named once; negative axes count from the end.
    pub fn new(axes: &[i64]) -> Flip {
        Flip { axes: axes.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) or
    /// [`ShapeError::RepeatedAxis`](crate::ShapeError::RepeatedAxis) for wrong `axes`.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let mut axes: Vec<AxisMap> = (0..shape.rank()).map(AxisMap::identity).collect();
        for axis in normalize_distinct_axes("axis", &self.axes, shape.rank())? {
            axes[axis] = AxisMap::Affine { axis, line: Line::reversal(shape[axis]) };
        }
        Ok(IndexMap::new(shape.clone(), shape.clone(), axes))
    }
}
