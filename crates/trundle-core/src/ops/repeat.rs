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
    /// Repeat each index of an axis (numpy's repeat)
    Repeat, "repeat", "repeat(repeats=2, axis=1)", {
        /// How often each index stands in a row
        repeats: Integer,
        /// The axis; a negative one counts from the end
        axis: Axis,
    }
}

impl Repeat {
    /// Repeats each index of `axis` `repeats` times; a negative axis counts from the end. 0 gives an empty
    /// axis.
    pub fn new(repeats: i64, axis: i64) -> Repeat {
        Repeat { repeats, axis }
    }

    /// The map for a tensor of this shape: the repeats are a new axis, merged with the repeated one.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(sizes: &[usize], repeats: i64, axis: i64) -> Result<IndexMap> {
        Repeat::new(repeats, axis).index_map(&Shape::new(sizes).unwrap())
    }

    #[test]
    fn each_index_stands_so_often_in_a_row() {
        let map = repeat(&[2, 3, 4], 5, 1).unwrap();
        assert_eq!(map.out_shape().sizes(), [2, 15, 4]);
        map.out_shape().for_each_index(|i| assert_eq!(map.source_of(i), [i[0], i[1] / 5, i[2]]));
        assert_eq!(repeat(&[2, 3], 2, -1).unwrap(), repeat(&[2, 3], 2, 1).unwrap());
        assert!(repeat(&[2, 3], 1, 0).unwrap().is_identity());
        assert_eq!(repeat(&[2, 3], 0, 0).unwrap().out_shape().sizes(), [0, 3]);
        assert_eq!(repeat(&[0, 3], 7, 0).unwrap().out_shape().sizes(), [0, 3]);
    }

    #[test]
    fn what_is_no_repeat_is_refused() {
        let refusal = |repeats, axis| repeat(&[2, 3], repeats, axis).unwrap_err().to_string();
        assert_eq!(
            refusal(-1, 0),
            "repeats -1 is out of range: expected a number that is not negative"
        );
        assert_eq!(refusal(1, 2), "axis 2 is out of range for rank 2: expected -2..=1");
        assert_eq!(
            refusal(i64::MAX, 1),
            "shape [2, 3] by repeat(repeats=9223372036854775807, axis=1) is too large to be addressed"
        );
    }
}
