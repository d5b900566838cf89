//! Gather of ONNX and OpenVINO, numpy's `take`.

use alloc::vec::Vec;
use core::fmt;

use super::indices::{IndexMode, Indices, check_batches};
use super::out_of_range;
use super::reverse_subsequences::Listed;
use crate::shape::normalize_axis;
use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError, Table};

/// Takes the elements at indices of one axis, which the axes of the indices replace.
///
/// The first axes may be batch axes, shared by the tensor and the indices; each batch has its own indices.
///
/// Source: the specification of OpenVINO's Gather-8 (ONNX's Gather has no batch axes); the documentation of
/// numpy's `take`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Take {
    axis: i64,
    indices: Indices,
    mode: IndexMode,
    batch_axes: usize,
}

crate::fingerprint!(struct Take { axis, indices, mode, batch_axes });

declaration! {
    /// Take slices at indices along an axis (numpy.take, ONNX's Gather)
    Take, "take", "take(indices=[2, 0, 0], axis=1)", None, {
        /// Indices: a file or a list; their axes replace the axis
        indices: Numbers,
        /// The axis; a negative axis counts from the end
        axis: Axis = [0],
        /// Handling of indices out of range: refuse, wrap around, or clip to the nearest
        mode: Word(&IndexMode::WORDS) = [0],
    }
}

impl Take {
    /// Takes the elements at `indices` of `axis`. A negative axis counts from the end.
    pub fn new(axis: i64, indices: Indices) -> Take {
        Take { axis, indices, mode: IndexMode::Raise, batch_axes: 0 }
    }

    /// Sets the treatment of indices that are outside the axis.
    #[must_use]
    pub fn with_mode(self, mode: IndexMode) -> Take {
        Take { mode, ..self }
    }

    /// Sets the number of batch axes.
    #[must_use]
    pub fn with_batch_axes(self, batch_axes: usize) -> Take {
        Take { batch_axes, ..self }
    }

    /// The indices.
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// The map for a tensor of this shape. The sizes of the indices replace the size of the axis.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] for an axis that the tensor does not have,
    /// [`OpError::IndexOutOfRange`](crate::OpError::IndexOutOfRange) for an index outside the axis,
    /// [`ShapeError::SizesDiffer`] if the sizes of batch axes differ,
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if there are more batch axes than axes before
    /// `axis` or than axes of the indices, [`ShapeError::TooLarge`] if the result cannot be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let axis = normalize_axis("axis", self.axis, shape.rank())?;
        let (batch_axes, own) = (self.batch_axes, self.indices.shape());
        if batch_axes > axis.min(own.rank()) {
            let expected = "at most the number of axes before `axis`, and at most the number of axes of the indices";
            return Err(out_of_range("batch axes", batch_axes, expected));
        }
        check_batches(shape, own, batch_axes)?;
        let coordinates = self.indices.coordinates(shape[axis], self.mode, (0, 1))?;
        let (before, behind) = (&shape[..axis], &shape[axis + 1..]);
        let sizes = [before, &own[batch_axes..], behind].concat();
        let new = own.rank() - batch_axes;
        let mut strides = vec![0; sizes.len()];
        for (at, stride) in self.indices.strides().into_iter().enumerate() {
            strides[if at < batch_axes { at } else { axis + at - batch_axes }] = stride;
        }
        let indices = Table::new(coordinates, 0, strides);
        let mut axes: Vec<AxisMap> = (0..axis).map(AxisMap::identity).collect();
        axes.push(AxisMap::Indexed { indices, line: Line::IDENTITY });
        axes.extend((axis..axis + behind.len()).map(|at| AxisMap::identity(at + new)));
        let out = Shape::new(sizes).map_err(|_| ShapeError::TooLarge {
            what: format!("shape {shape} with indices of shape {own} in the place of axis {axis}"),
        })?;
        Ok(IndexMap::new(out, shape.clone(), axes))
    }
}

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("take(indices=")?;
        Listed(self.indices.values()).fmt(f)?;
        write!(f, ", axis={}", self.axis)?;
        if self.mode != IndexMode::Raise {
            write!(f, ", mode=\"{}\"", self.mode)?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_few_lines_need_no_table() {
        let nine = Shape::new([9]).unwrap();
        let map = |values: &[i64]| Take::new(0, Indices::list(values)).index_map(&nine).unwrap();
        let axis = |map: &IndexMap| map.layers()[0].axes().unwrap()[0].clone();
        assert_eq!(
            axis(&map(&[7, 5, 3, 1])),
            AxisMap::Affine { axis: 0, line: Line { start: 7, step: -2 } }
        );
        assert!(matches!(axis(&map(&[4, 5, 6, 0, 1, 2])), AxisMap::Segments { .. }));
        assert!(map(&[0, 1, 2, 3, 4, 5, 6, 7, 8]).is_identity());
        let table = map(&[4, 1, 6, 0, 7, 3, 2]);
        assert!(matches!(axis(&table), AxisMap::Indexed { .. }));
        let found: Vec<_> = (0..7).map(|i| table.source_of(&[i])[0]).collect();
        assert_eq!(found, [4, 1, 6, 0, 7, 3, 2]);
    }
}
