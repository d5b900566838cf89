//! Concat of ONNX and OpenVINO, numpy's `concatenate`.

use alloc::vec::Vec;
use core::fmt;

use super::operand::{Operand, Operands};
use crate::Result;
use crate::program::{Program, TensorId};
use crate::shape::normalize_axis;

/// Concatenates tensors along an axis. The tensors may differ only in their sizes along this axis.
///
/// Source: the specification of OpenVINO's Concat-1; the documentation of numpy's `concatenate`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Concat {
    inputs: Operands,
    axis: i64,
}

crate::fingerprint!(struct Concat { inputs, axis });

declaration! {
    /// Join tensors along an axis (numpy.concatenate, ONNX's Concat)
    Concat, "concat", "concat(_, b, axis=0)", None, {
        /// The tensors; _ is the result of the previous stage
        inputs: Tensors,
        /// The axis; a negative axis counts from the end
        axis: Axis = [0],
    }
}

impl Concat {
    /// Concatenates `inputs` along `axis`. A negative axis counts from the end.
    pub fn new(inputs: impl Into<Vec<Operand>>, axis: i64) -> Concat {
        Concat { inputs: Operands(inputs.into()), axis }
    }

    /// The tensors, in order.
    pub fn inputs(&self) -> &[Operand] {
        &self.inputs.0
    }

    /// Adds the concatenation of `inputs`, instead of [`Concat::inputs`], to a program.
    ///
    /// # Errors
    /// As [`Program::joined`].
    pub fn add_to(&self, program: &mut Program, inputs: &[TensorId]) -> Result<TensorId> {
        let rank = inputs.first().map_or(1, |first| program.tensor(*first).shape.rank());
        program.joined(normalize_axis("axis", self.axis, rank)?, inputs)
    }
}

impl fmt::Display for Concat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "concat({}, axis={})", self.inputs, self.axis)
    }
}
