//! numpy's `fft.ifftshift`.

use alloc::vec::Vec;

use super::Roll;
use crate::{IndexMap, Result, Shape};

/// Rolls axes back by half of their size, rounded down. It is the inverse of [`FftShift`](super::FftShift).
///
/// Source: the documentation of numpy's `fft.ifftshift`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IfftShift {
    axes: Vec<i64>,
}

declare! {
    /// Roll axes back by half of their size, rounded down (numpy.fft.ifftshift)
    IfftShift, "ifftshift", "ifftshift(0, 1)", {
        /// Axes to roll; negative axes count from the end, and an empty list is all axes
        axes: Axes = [],
    }
}

impl IfftShift {
    /// Rolls `axes` back by half of their size; all axes if the list is empty. Negative axes count from the end.
    pub fn new(axes: &[i64]) -> IfftShift {
        IfftShift { axes: axes.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that the tensor does not have.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        Roll::by_half(&self.axes, shape, -1)?.index_map(shape)
    }
}
