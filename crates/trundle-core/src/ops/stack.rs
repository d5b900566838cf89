//! numpy's `stack`.

use alloc::vec::Vec;
use core::fmt;

use super::operand::{Operand, Operands};
use crate::Result;
use crate::program::{Program, TensorId};
use crate::shape::normalize_axis;

/// Stacks tensors of one shape along a new axis.
///
/// Source: the documentation of numpy's `stack`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    inputs: Operands,
    axis: i64,
}

crate::fingerprint!(struct Stack { inputs, axis });

declaration! {
    /// Join tensors of one shape along a new axis (numpy.stack)
    Stack, "stack", "stack(_, b, axis=0)", None, {
        /// The tensors; _ is the result of the previous stage
        inputs: Tensors,
        /// Position of the new axis in the result; a negative axis counts from the end
        axis: Axis = [0],
    }
}

impl Stack {
    /// Stacks `inputs` along the new axis `axis` of the result. A negative axis counts from the end of the result.
    pub fn new(inputs: impl Into<Vec<Operand>>, axis: i64) -> Stack {
        Stack { inputs: Operands(inputs.into()), axis }
    }

    /// The tensors, in order.
    pub fn inputs(&self) -> &[Operand] {
        &self.inputs.0
    }

    /// Adds the stack of `inputs`, instead of [`Stack::inputs`], to a program.
    ///
    /// # Errors
    /// As [`Program::stacked`].
    pub fn add_to(&self, program: &mut Program, inputs: &[TensorId]) -> Result<TensorId> {
        let rank = inputs.first().map_or(1, |first| program.tensor(*first).shape.rank() + 1);
        program.stacked(normalize_axis("axis", self.axis, rank)?, inputs)
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stack({}, axis={})", self.inputs, self.axis)
    }
}
