//! A constant around the tensor, as numpy's `pad` says it.

use std::fmt;

use super::declaration::Argument;
use super::pad::widths;
use super::{Pad, PadMode, Scalar};
use crate::Result;
use crate::program::{Program, TensorId};

/// One number put before and behind the tensor along its axes.
///
/// Source: the documentation of numpy's `pad`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PadConstant {
    width: Vec<i64>,
    value: Scalar,
}

crate::fingerprint!(struct PadConstant { width, value });

impl PadConstant {
    /// So many elements before and behind along each axis: a pair for each, or one for all, or one number for all
    /// of those.
    pub fn new(width: &[i64], value: Scalar) -> PadConstant {
        PadConstant { width: width.to_vec(), value }
    }

    /// The number.
    pub fn value(&self) -> Scalar {
        self.value
    }

    /// Adds what it makes of a tensor of a program, where `element` is a buffer of one element that is the value.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if there are other than so many widths, or bytes of the element,
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) for a width below 0, [`ShapeError::TooLarge`](crate::ShapeError::TooLarge).
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
    /// As a call of the chain language.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.value == Scalar::ZERO { &[][..] } else { self.value.list() };
        Pad::DECLARATION.print(&[Argument::list(&self.width), &[PadMode::CONSTANT], value], f)
    }
}
