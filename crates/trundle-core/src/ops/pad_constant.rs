//! numpy's `pad` with a constant.

use alloc::vec::Vec;
use core::fmt;

use super::declaration::Argument;
use super::pad::widths;
use super::{Pad, PadMode, Scalar};
use crate::Result;
use crate::program::{Program, TensorId};

/// Pads the tensor along its axes with a constant.
///
/// Source: the documentation of numpy's `pad`; the specification of OpenVINO's Pad-12 in mode constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PadConstant {
    width: Vec<i64>,
    value: Scalar,
}

crate::fingerprint!(struct PadConstant { width, value });

impl PadConstant {
    /// Adds elements with the value `value` before and after the tensor along each axis.
    ///
    /// `width` has one pair of numbers for each axis, one pair for all axes, or one number for both sides of all axes.
    pub fn new(width: &[i64], value: Scalar) -> PadConstant {
        PadConstant { width: width.to_vec(), value }
    }

    /// The constant.
    pub fn value(&self) -> Scalar {
        self.value
    }

    /// Adds the padded tensor to a program. `element` has the bytes of the constant.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) for a wrong number of widths, or if `element` does
    /// not have the size of one element, [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) for a negative
    /// width, [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the result cannot be addressed.
    pub fn add_to(
        &self,
        program: &mut Program,
        input: TensorId,
        element: &[u8],
    ) -> Result<TensorId> {
        let widths = widths(&self.width, &program.tensor(input).shape)?;
        let fill = program.fill(program.tensor(input).width, element)?;
        program.padded(input, &widths, fill)
    }
}

impl fmt::Display for PadConstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.value == Scalar::ZERO { &[][..] } else { self.value.list() };
        Pad::DECLARATION.print(&[Argument::list(&self.width), &[PadMode::CONSTANT], value], f)
    }
}
