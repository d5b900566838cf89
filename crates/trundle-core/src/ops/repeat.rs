//! numpy's `repeat`.

use super::error::count_of;
use crate::shape::normalize_axis;
use crate::{AxisMap, IndexMap, Result, Shape, ShapeError};

/// Repeats each index of an axis: `out[i] = in[i / repeats]` along this axis.
///
/// Source: the documentation of numpy's `repeat`, for one number of repeats for all indices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    repeats: i64,
    axis: i64,
}

declare! {
    /// Repeat each element along an axis (numpy.repeat)
    Repeat, "repeat", "repeat(repeats=2, axis=1)", {
        /// Number of copies of each element
        repeats: Integer,
        /// The axis; a negative axis counts from the end
        axis: Axis,
    }
}

impl Repeat {
    /// Repeats each index of the axis `repeats` times, which may be 0. A negative axis counts from the end.
    pub fn new(repeats: i64, axis: i64) -> Repeat {
        Repeat { repeats, axis }
    }

    /// The map for a tensor of this shape. The size of the axis is multiplied by the number of repeats.
    ///
    /// The repeats are a new axis, merged with the repeated one.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] for an axis that the tensor does not have,
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) for a negative number of repeats,
    /// [`ShapeError::TooLarge`] if the result cannot be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let axis = normalize_axis("axis", self.axis, shape.rank())?;
        let repeats = count_of("repeats", self.repeats)?;
        if repeats == 1 {
            return Ok(IndexMap::identity(shape));
        }
        let mut sizes = shape.sizes().to_vec();
        let size = sizes[axis].checked_mul(repeats);
        sizes[axis] =
            size.ok_or_else(|| ShapeError::TooLarge { what: format!("shape {shape} by {self}") })?;
        let mut apart = shape.sizes().to_vec();
        apart.insert(axis + 1, repeats);
        let axes = (0..shape.rank()).map(|own| AxisMap::identity(own + usize::from(own > axis)));
        let repeated = IndexMap::new(Shape::new(apart)?, shape.clone(), axes.collect());
        let merged = IndexMap::reshape(repeated.out_shape(), &Shape::new(sizes)?)?;
        repeated.then(&merged)
    }
}
