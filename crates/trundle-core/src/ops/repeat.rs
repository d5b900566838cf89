//! numpy's `repeat`.

use super::error::count_of;
use crate::shape::normalize_axis;
use crate::{AxisMap, IndexMap, Result, Shape, ShapeError};

/// Repeats each index of an axis: `out[i] = in[i / repeats]` along it.
///
/// Source: the documentation of numpy's `repeat`, with one number for all indices.
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
    /// Repeats each index of `axis` `repeats` times; a negative axis counts from the end. 0 gives an empty
    /// axis.
    pub fn new(repeats: i64, axis: i64) -> Repeat {
        Repeat { repeats, axis }
    }

    /// The map for a tensor of this shape. The output has the size of the axis multiplied by the repeats.
    ///
    /// The repeats are a new axis, merged with the repeated one.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`], [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) for
    /// negative repeats, [`ShapeError::TooLarge`].
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
