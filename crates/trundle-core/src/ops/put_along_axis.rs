//! numpy's `put_along_axis`, which is ONNX's ScatterElements if the shapes are equal except on the axis.

use alloc::vec::Vec;
use core::fmt;

use super::operand::Operand;
use super::reverse_subsequences::Listed;
use super::{Broadcast, Indices, TakeAlongAxis};
use crate::program::{Program, TensorId};
use crate::{IndexMap, Result, Shape};

/// Writes values over a tensor along an axis, each value at its index on this axis.
///
/// The counterpart of [`TakeAlongAxis`], with the same indices. The values are broadcast to its output. If several
/// values have the same destination, the last one in row-major order wins. The result has the shape of the tensor.
///
/// Source: the documentation of numpy's `put_along_axis`; the specification of ONNX's ScatterElements without
/// a reduction, opset 18.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PutAlongAxis {
    inputs: [Operand; 2],
    taken: TakeAlongAxis,
}

crate::fingerprint!(struct PutAlongAxis { inputs, taken });

declaration! {
    /// Write values at indices along an axis (numpy.put_along_axis, ONNX's ScatterElements)
    PutAlongAxis, "put_along_axis", "put_along_axis(_, values, indices=order.npy, axis=1)", None, {
        /// The tensor, and the values to write; _ is the result of the previous stage
        inputs: TwoTensors,
        /// Indices: a file with as many axes as the tensor; sizes of 1 broadcast along the other axes
        indices: Numbers,
        /// The axis; a negative axis counts from the end
        axis: Axis,
    }
}

impl PutAlongAxis {
    /// Writes the elements of the second tensor over the first tensor, at `indices` along `axis`. Negative axes and
    /// indices count from the end.
    pub fn new(inputs: [Operand; 2], axis: i64, indices: Indices) -> PutAlongAxis {
        PutAlongAxis { inputs, taken: TakeAlongAxis::new(axis, indices) }
    }

    /// The tensor to update, and the values.
    pub fn inputs(&self) -> &[Operand] {
        &self.inputs
    }

    /// The map from the index of each value to its destination in a tensor of this shape.
    ///
    /// # Errors
    /// As [`TakeAlongAxis::index_map`].
    pub fn targets(&self, shape: &Shape) -> Result<IndexMap> {
        self.taken.index_map(shape)
    }

    /// Adds the updated tensor, made of the given inputs, to a program.
    ///
    /// # Errors
    /// The errors of [`PutAlongAxis::targets`] and [`Program::updated`], and
    /// [`ShapeError::SizesDoNotBroadcast`](crate::ShapeError::SizesDoNotBroadcast) for values that cannot be broadcast
    /// to the shape of the destinations.
    pub fn add_to(&self, program: &mut Program, [base, values]: [TensorId; 2]) -> Result<TensorId> {
        let targets = self.targets(&program.tensor(base).shape)?;
        let sizes: Vec<i64> =
            targets.out_shape().iter().map(|size| size.cast_signed() as i64).collect();
        let values = program.moved_by(values, Broadcast::new(&sizes))?;
        program.updated(base, values, &targets)
    }
}

impl fmt::Display for PutAlongAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [base, values] = &self.inputs;
        write!(f, "put_along_axis({base}, {values}, indices=")?;
        Listed(self.taken.indices().values()).fmt(f)?;
        write!(f, ", axis={})", self.taken.axis())
    }
}
