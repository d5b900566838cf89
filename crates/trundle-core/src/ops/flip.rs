//! numpy's `flip`, OpenVINO's Reverse-1.

use crate::shape::normalize_axis;
use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError};

/// Reverses the elements along some axes: `out[i] = in[size - 1 - i]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flip {
    axes: Vec<i64>,
}

declare! {
    /// Reverse whole axes
    Flip, "flip", "flip(axes=[1])", {
        /// The axes to reverse; negative ones count from the end
        axes: Axes,
    }
}

impl Flip {
    /// The axes to reverse, each named once; negative ones count from the end.
    pub fn new(axes: &[i64]) -> Flip {
        Flip { axes: axes.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] or [`ShapeError::RepeatedAxis`] for `axes`.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let mut flipped = vec![false; shape.rank()];
        for &axis in &self.axes {
            let front = normalize_axis("axis", axis, shape.rank())?;
            if std::mem::replace(&mut flipped[front], true) {
                return Err(ShapeError::RepeatedAxis { argument: "axes", axis }.into());
            }
        }
        let axes = flipped
            .into_iter()
            .zip(shape.iter())
            .enumerate()
            .map(|(axis, (flipped, size))| {
                let line = if flipped { Line::reversal(*size) } else { Line::IDENTITY };
                AxisMap::Affine { axis, line }
            })
            .collect();
        Ok(IndexMap::new(shape.clone(), shape.clone(), axes))
    }
}
