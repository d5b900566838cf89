//! numpy's `take_along_axis`, which is ONNX's GatherElements if the shapes are equal except on the axis.

use alloc::vec::Vec;
use core::fmt;

use super::indices::{IndexMode, Indices};
use super::reverse_subsequences::Listed;
use crate::shape::{check_sizes, normalize_axis};
use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError, Table};

/// Takes an element along an axis for each position of the indices. For axis 1 of a tensor of rank 3,
/// `out[i, j, k] = in[i, indices[i, j, k], k]`.
///
/// On the other axes, a size of 1 is broadcast.
///
/// Source: the documentation of numpy's `take_along_axis`; the specifications of ONNX's GatherElements and
/// OpenVINO's GatherElements-6.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TakeAlongAxis {
    axis: i64,
    indices: Indices,
}

crate::fingerprint!(struct TakeAlongAxis { axis, indices });

declaration! {
    /// Take elements at indices along an axis (numpy.take_along_axis, ONNX's GatherElements)
    TakeAlongAxis, "take_along_axis", "take_along_axis(indices=order.npy, axis=1)", None, {
        /// Indices: a file with as many axes as the tensor; sizes of 1 broadcast along the other axes
        indices: Numbers,
        /// The axis; a negative axis counts from the end
        axis: Axis,
    }
}

impl TakeAlongAxis {
    /// Takes the elements at `indices` along `axis`. Negative axes and indices count from the end.
    pub fn new(axis: i64, indices: Indices) -> TakeAlongAxis {
        TakeAlongAxis { axis, indices }
    }

    /// The indices.
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// The axis as given, possibly negative.
    pub(super) fn axis(&self) -> i64 {
        self.axis
    }

    /// The map for a tensor of this shape.
    ///
    /// The output has the size of the indices on the axis, and broadcast sizes on the others.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] for an axis that the tensor does not have,
    /// [`OpError::IndexOutOfRange`](crate::OpError::IndexOutOfRange) for an index outside the axis,
    /// [`ShapeError::SizesDiffer`] if the indices and the tensor have different ranks,
    /// [`ShapeError::SizesDoNotBroadcast`] if the sizes on another axis differ and neither is 1.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let axis = normalize_axis("axis", self.axis, shape.rank())?;
        let own = self.indices.shape();
        check_sizes(
            ("the shape of the indices", own.rank()),
            ("the shape of the tensor", shape.rank()),
        )?;
        let mut sizes = Vec::with_capacity(shape.rank());
        for (at, (size, other)) in shape.iter().zip(own.iter()).enumerate() {
            sizes.push(match (*size, *other) {
                (_, other) if at == axis => other,
                (size, other) if size == other => size,
                (1, other) => other,
                (size, 1) => size,
                _ => {
                    let sizes = own.iter().map(|size| size.cast_signed() as i64).collect();
                    return Err(
                        ShapeError::SizesDoNotBroadcast { shape: shape.clone(), sizes }.into()
                    );
                }
            });
        }
        let coordinates = self.indices.coordinates(shape[axis], IndexMode::Raise, (0, 1))?;
        let strides = self.indices.strides().into_iter().zip(own.iter());
        let strides = strides.map(|(stride, size)| if *size == 1 { 0 } else { stride }).collect();
        let indices = Table::new(coordinates, 0, strides);
        let of_axis = |at: usize| match at {
            _ if at == axis => AxisMap::Indexed { indices: indices.clone(), line: Line::IDENTITY },
            _ if shape[at] == 1 => AxisMap::Affine { axis: at, line: Line { start: 0, step: 0 } },
            _ => AxisMap::identity(at),
        };
        let axes = (0..shape.rank()).map(of_axis).collect();
        Ok(IndexMap::new(Shape::new(sizes)?, shape.clone(), axes))
    }
}

impl fmt::Display for TakeAlongAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("take_along_axis(indices=")?;
        Listed(self.indices.values()).fmt(f)?;
        write!(f, ", axis={})", self.axis)
    }
}
