//! numpy's `fft.fftshift`.

use alloc::vec::Vec;

use super::Roll;
use crate::{IndexMap, Result, Shape};

/// Rolls axes by half of their size, rounded down. In a spectrum, this moves the zero frequency to the centre.
///
/// Source: the documentation of numpy's `fft.fftshift`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FftShift {
    axes: Vec<i64>,
}

declare! {
    /// Roll axes by half of their size, rounded down (numpy.fft.fftshift)
    FftShift, "fftshift", "fftshift(0, 1)", {
        /// Axes to roll; negative axes count from the end, and an empty list is all axes
        axes: Axes = [],
    }
}

impl FftShift {
    /// Rolls `axes` by half of their size; all axes if the list is empty. Negative axes count from the end.
    pub fn new(axes: &[i64]) -> FftShift {
        FftShift { axes: axes.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that the tensor does not have.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        Roll::by_half(&self.axes, shape, 1)?.index_map(shape)
    }
}
