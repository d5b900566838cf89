//! The error type of the crate.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use crate::dtype::DTypeError;
use crate::layout::LayoutError;
use crate::moves::MoveError;
use crate::ops::{OpError, PatternFault};
use crate::shape::ShapeError;

/// The result of a function that may return an [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The reason why a call failed.
///
/// A function that returns an error has written nothing, except for [`Error::Stopped`] and
/// [`Error::DeviceFailed`], or if its documentation says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A size, an axis or a range is wrong.
    Shape(ShapeError),
    /// An element type or its width is wrong.
    DType(DTypeError),
    /// A layout does not fit its buffer, or its elements overlap.
    Layout(LayoutError),
    /// An argument of an operator is wrong.
    Op(OpError),
    /// An axis pattern is malformed, or does not fit the shape.
    Pattern(Box<PatternFault>),
    /// A movement cannot be done in the requested way.
    Move(MoveError),
    /// The caller stopped a movement before it was complete.
    Stopped,
    /// The device was lost or is out of memory. Any of the elements may have been written.
    DeviceFailed {
        /// The message of the device.
        message: String,
    },
}

impl Error {
    /// The error for an object, described by `what`, that is too large to be addressed.
    pub fn too_large(what: impl Into<String>) -> Error {
        Error::Shape(ShapeError::TooLarge { what: what.into() })
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Shape(error) => error.fmt(f),
            Error::DType(error) => error.fmt(f),
            Error::Layout(error) => error.fmt(f),
            Error::Op(error) => error.fmt(f),
            Error::Pattern(fault) => fault.fmt(f),
            Error::Move(error) => error.fmt(f),
            Error::Stopped => f.write_str("the move was stopped early: the output is incomplete"),
            Error::DeviceFailed { message } => write!(f, "the device failed: {message}"),
        }
    }
}

macro_rules! from_domains {
    ($($domain:ident($error:ident))*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::$domain(error)
            }
        }
    )*};
}

from_domains! { Shape(ShapeError) DType(DTypeError) Layout(LayoutError) Op(OpError) Move(MoveError) }
