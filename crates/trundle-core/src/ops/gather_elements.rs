//! GatherElements of ONNX and OpenVINO.

use super::{Indices, TakeAlongAxis};
use crate::shape::{check_sizes, normalize_axis};
use crate::{IndexMap, OpError, Result, Shape};

/// Gathers elements along an axis: each position of the indices gives the element of its row at that index.
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

    /// The map for a tensor of this shape.
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
        let counted = ("the axes of the indices", indices.rank());
        check_sizes(counted, ("those of the data", shape.rank()))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    fn gather(axis: i64, sizes: &[usize], values: &[i64], of: &[usize]) -> Result<IndexMap> {
        let indices = Indices::new(shape(sizes), values).unwrap();
        GatherElements::new(axis, indices).index_map(&shape(of))
    }

    #[test]
    fn fewer_indices_are_for_the_first_positions() {
        let values = [2, -1, 0, 1];
        let map = gather(0, &[2, 2], &values, &[3, 5]).unwrap();
        assert_eq!(map.out_shape().sizes(), [2, 2]);
        map.out_shape().for_each_index(|i| {
            assert_eq!(map.source_of(i), [[[2, 2], [0, 1]][i[0]][i[1]], i[1]]);
        });
        // Only the axis itself may have more indices than elements; a size of 1 is not broadcast.
        let one = gather(-1, &[1, 4], &[1, 0, 0, -2], &[3, 2]).unwrap();
        assert_eq!(one.out_shape().sizes(), [1, 4]);
        one.out_shape().for_each_index(|i| assert_eq!(one.source_of(i), [0, [1, 0, 0, 0][i[1]]]));
        assert_eq!(gather(0, &[0, 2], &[], &[3, 2]).unwrap().out_shape().sizes(), [0, 2]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refusal = |result: Result<IndexMap>| result.unwrap_err().to_string();
        assert_eq!(
            refusal(gather(0, &[2], &[0, 0], &[2, 3])),
            "the axes of the indices and those of the data must have equal sizes, got 1 and 2"
        );
        assert_eq!(
            refusal(gather(0, &[1, 4], &[0; 4], &[2, 3])),
            "indices of shape [1, 4] reach beyond data of shape [2, 3]"
        );
        assert!(refusal(gather(0, &[], &[0], &[])).contains("rank 0"));
        assert_eq!(
            refusal(gather(1, &[2, 1], &[0, 3], &[2, 3])),
            "index 3 at [1, 0] is out of range for an axis of size 3: expected -3..=2"
        );
    }
}
