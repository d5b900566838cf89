//! GatherElements of ONNX and OpenVINO.

use alloc::vec::Vec;

use super::{Indices, TakeAlongAxis};
use crate::shape::{check_sizes, normalize_axis};
use crate::{IndexMap, OpError, Result, Shape};

/// Gathers elements along an axis. For axis 1 of a tensor of rank 3, `out[i, j, k] = in[i, indices[i, j, k], k]`.
///
/// On the other axes, the indices may be smaller than the tensor, whose rest is then not read.
///
/// Source: the specifications of ONNX's GatherElements, opset 13, and OpenVINO's GatherElements-6.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GatherElements {
    axis: i64,
    indices: Indices,
}

impl GatherElements {
    /// Gathers elements at `indices` along `axis`. Negative axes and indices count from the end.
    pub fn new(axis: i64, indices: Indices) -> GatherElements {
        GatherElements { axis, indices }
    }

    /// The map for a tensor of this shape. The output has the shape of the indices.
    ///
    /// # Errors
    /// The errors of [`GatherElements::out_shape`], and [`OpError::IndexOutOfRange`] for an index outside the axis.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let own = self.indices.shape();
        let out = GatherElements::out_shape(shape, own, self.axis)?;
        let axis = normalize_axis("axis", self.axis, shape.rank())?;
        let bound = |at: usize| if at == axis { 0..shape[at] } else { 0..out[at] };
        let bounds: Vec<_> = (0..shape.rank()).map(bound).collect();
        let first = IndexMap::identity(shape).restrict(&bounds)?;
        let taken = TakeAlongAxis::new(self.axis, self.indices.clone());
        first.then(&taken.index_map(first.out_shape())?)
    }

    /// The shape of the result, which is the shape of the indices.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that the tensor does not have,
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the indices and the tensor have different ranks,
    /// [`OpError::TooManyIndices`] if the indices have a greater size than the tensor on another axis.
    pub fn out_shape(shape: &Shape, indices: &Shape, axis: i64) -> Result<Shape> {
        let axis = normalize_axis("axis", axis, shape.rank())?;
        let counted = ("the shape of the indices", indices.rank());
        check_sizes(counted, ("the shape of the data", shape.rank()))?;
        let mut sizes = (0..).zip(shape.iter().zip(indices.iter()));
        match sizes.all(|(at, (size, count))| at == axis || count <= size) {
            true => Ok(indices.clone()),
            false => {
                Err(OpError::TooManyIndices { indices: indices.clone(), shape: shape.clone() }
                    .into())
            }
        }
    }
}
