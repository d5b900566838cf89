//! ReverseSequence of ONNX, TensorFlow and OpenVINO.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::reverse_subsequences::{Listed, reversed_rows};
use crate::shape::{check_sizes, normalize_axis};
use crate::{IndexMap, OpError, Result, Shape, ShapeError};

/// Reverses the first `lengths[b]` elements along `axis` at each index b of the batch axis, and keeps the rest.
///
/// This is as [`ReverseSubsequences`](crate::ops::ReverseSubsequences) with lengths that differ only along the batch
/// axis, but a length greater than the size of the axis is an error.
///
/// Source: the specifications of ReverseSequence of ONNX, opset 10, and OpenVINO; the documentation of TensorFlow's
/// `reverse_sequence`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReverseSequence {
    axis: i64,
    batch_axis: i64,
    lengths: Arc<[i128]>,
}

crate::fingerprint!(struct ReverseSequence { axis, batch_axis, lengths });

impl ReverseSequence {
    /// Reverses along `axis`, with one length for each index of `batch_axis`. Negative axes count from the end.
    pub fn new(axis: i64, batch_axis: i64, lengths: impl Into<Arc<[i128]>>) -> ReverseSequence {
        ReverseSequence { axis, batch_axis, lengths: lengths.into() }
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`] or [`ShapeError::SameAxis`] for the axes, [`ShapeError::SizesDiffer`]
    /// if the number of lengths differs from the size of the batch axis, [`OpError::LengthOutOfRange`] for a
    /// length that is negative or exceeds the size of the axis.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let axis = normalize_axis("axis", self.axis, shape.rank())?;
        let batch_axis = normalize_axis("batch axis", self.batch_axis, shape.rank())?;
        if axis == batch_axis {
            return Err(ShapeError::SameAxis { left: "axis", right: "batch axis", axis }.into());
        }
        check_sizes(("lengths", self.lengths.len()), ("the batch axis", shape[batch_axis]))?;
        let size = shape[axis];
        let within = |(index, length): (usize, &i128)| {
            usize::try_from(*length)
                .ok()
                .filter(|length| *length <= size)
                .ok_or(OpError::LengthOutOfRange { index, length: *length, size })
        };
        let lengths: Vec<usize> =
            self.lengths.iter().enumerate().map(within).collect::<Result<_, _>>()?;
        let mut strides = vec![0; shape.rank()];
        strides[batch_axis] = 1;
        Ok(reversed_rows(shape, axis, lengths, strides))
    }
}

impl fmt::Display for ReverseSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reverse(axis={}, batch_axis={}, lengths=", self.axis, self.batch_axis)?;
        Listed(&self.lengths).fmt(f)?;
        f.write_str(")")
    }
}
