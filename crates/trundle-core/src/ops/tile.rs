//! Tile of ONNX, numpy's `tile`.

use alloc::vec::Vec;

use super::error::count_of;
use crate::shape::check_sizes;
use crate::{AxisMap, IndexMap, Result, Shape, ShapeError};

/// Repeats the tensor along its axes: `out[i] = in[i mod size]`.
///
/// Source: the specification of ONNX's Tile, opset 13.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    repeats: Vec<i64>,
}

declare! {
    /// Repeat the tensor along its axes (numpy.tile)
    Tile, "tile", "tile(2, 1)", {
        /// Number of copies along each axis
        repeats: Integers = [],
    }
}

impl Tile {
    /// Repeats the tensor `repeats[axis]` times along each axis, which may be 0.
    pub fn new(repeats: &[i64]) -> Tile {
        Tile { repeats: repeats.to_vec() }
    }

    /// The map for a tensor of this shape. Each size is multiplied by its number of repeats.
    ///
    /// The repeats of an axis are a new axis, merged with it.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if the number of repeats differs from the number of axes,
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) for a negative number of repeats,
    /// [`ShapeError::TooLarge`] if the result cannot be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let repeats = self.repeats_of(shape)?;
        let too_large = || ShapeError::TooLarge { what: format!("shape {shape} by {self}") };
        let sizes = shape.iter().zip(&repeats).map(|(size, repeat)| size.checked_mul(*repeat));
        let tiled = sizes.collect::<Option<Vec<_>>>().ok_or_else(too_large)?;
        let tiled = Shape::new(tiled)?;
        let (mut apart, mut axes) = (Vec::new(), Vec::new());
        for (size, repeat) in shape.iter().zip(&repeats) {
            if *repeat != 1 {
                apart.push(*repeat);
            }
            axes.push(AxisMap::identity(apart.len()));
            apart.push(*size);
        }
        let repeated = IndexMap::new(Shape::new(apart)?, shape.clone(), axes);
        let merged = IndexMap::reshape(repeated.out_shape(), &tiled)?;
        repeated.then(&merged)
    }

    fn repeats_of(&self, shape: &Shape) -> Result<Vec<usize>> {
        check_sizes(("repeats", self.repeats.len()), ("the shape of the tensor", shape.rank()))?;
        let repeats = self.repeats.iter().map(|number| Ok(count_of("repeat", *number)?));
        repeats.collect()
    }
}
