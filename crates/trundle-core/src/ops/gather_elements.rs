//! GatherElements of ONNX and OpenVINO.

use super::{Indices, TakeAlongAxis};
use crate::shape::{check_sizes, normalize_axis};
use crate::{IndexMap, OpError, Result, Shape};

/// Gathers elements along an axis: `out[i, j, k] = in[i, indices[i, j, k], k]` for the middle one of three axes.
///
/// Along the other axes the indices may be smaller than the tensor; they then apply to its first positions.
///
/// Source: the specifications of ONNX's GatherElements, opset 13, and OpenVINO's GatherElements-6.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GatherElements {
    axis: i64,
    indices: Indices,
}

impl GatherElements {
    /// Gathers at `indices` along `axis`. Negative axes and indices count from the end.
    pub fn new(axis: i64, indices: Indices) -> GatherElements {
        GatherElements { axis, indices }
    }

    /// The map for a tensor of this shape. The output has the shape of the indices.
    ///
    /// # Errors
    /// As [`GatherElements::out_shape`], and [`OpError::IndexOutOfRange`].
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

    /// Shape of the result for a tensor of this shape, which is the shape of the indices.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange);
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the indices and the tensor have
    /// different ranks;
    /// [`OpError::TooManyIndices`] if the indices exceed the tensor along another axis.
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
