//! Status codes, one for each kind of error.

use trundle::{DTypeError, Error, LayoutError, OpError, ShapeError};
use trundle_models::Error as ModelError;

/// TRUNDLE_OK, or one of TRUNDLE_ERROR_*. Later versions may add numbers.
pub type trundle_status = i32;

/// The call succeeded.
pub const TRUNDLE_OK: trundle_status = 0;
/// A required pointer is NULL.
pub const TRUNDLE_ERROR_NULL_POINTER: trundle_status = 1;
/// A pointer is not aligned for its C type.
pub const TRUNDLE_ERROR_MISALIGNED: trundle_status = 2;
/// A rank is above 256, or a list has more than 65536 entries.
pub const TRUNDLE_ERROR_RANK: trundle_status = 3;
/// A tensor is too large: its sizes or strides reach beyond the address space.
pub const TRUNDLE_ERROR_TOO_LARGE: trundle_status = 4;
/// No element type has this number or name.
pub const TRUNDLE_ERROR_UNKNOWN_DTYPE: trundle_status = 5;
/// A tensor has the wrong element type.
pub const TRUNDLE_ERROR_DTYPE: trundle_status = 6;
/// Shapes or list lengths do not match.
pub const TRUNDLE_ERROR_SHAPE: trundle_status = 7;
/// An axis is out of range or repeated.
pub const TRUNDLE_ERROR_AXIS: trundle_status = 8;
/// A sequence length is out of range, in an operator that does not clamp lengths.
pub const TRUNDLE_ERROR_LENGTH: trundle_status = 9;
/// The memory of an output overlaps an input, a list, or another output.
pub const TRUNDLE_ERROR_OVERLAP: trundle_status = 10;
/// Elements of the output overlap each other.
pub const TRUNDLE_ERROR_SELF_OVERLAP: trundle_status = 11;
/// A buffer is too small.
pub const TRUNDLE_ERROR_BUFFER_SIZE: trundle_status = 12;
/// The DirectML feature level does not support this call.
pub const TRUNDLE_ERROR_FEATURE_LEVEL: trundle_status = 13;
/// A bug in the library. The output may be incomplete.
pub const TRUNDLE_ERROR_INTERNAL: trundle_status = 14;

/// A string is not a chain.
pub const TRUNDLE_ERROR_CHAIN: trundle_status = 15;
/// A parameter is out of range, such as a step of 0.
pub const TRUNDLE_ERROR_NUMBER: trundle_status = 16;

/// An index of a gather or a scatter is out of range.
pub const TRUNDLE_ERROR_INDEX: trundle_status = 17;

/// A file cannot be read.
pub const TRUNDLE_ERROR_FILE: trundle_status = 18;
/// A model file is malformed, or its operators do not fit each other or the inputs.
pub const TRUNDLE_ERROR_MODEL: trundle_status = 19;
/// A model has operators that compute or that are not supported.
pub const TRUNDLE_ERROR_UNSUPPORTED: trundle_status = 20;

pub(crate) fn status_of(error: &Error) -> trundle_status {
    match error {
        Error::Shape(
            ShapeError::AxisOutOfRange { .. }
            | ShapeError::RepeatedAxis { .. }
            | ShapeError::SameAxis { .. },
        ) => TRUNDLE_ERROR_AXIS,
        Error::Shape(ShapeError::TooLarge { .. }) => TRUNDLE_ERROR_TOO_LARGE,
        Error::Op(
            OpError::TooManyIndices { .. }
            | OpError::EmptyAxisPadded { .. }
            | OpError::WindowTooLarge { .. },
        )
        | Error::Shape(_)
        | Error::Pattern(_) => TRUNDLE_ERROR_SHAPE,
        Error::Op(OpError::NumberOutOfRange { .. }) => TRUNDLE_ERROR_NUMBER,
        Error::Op(OpError::IndexOutOfRange { .. }) => TRUNDLE_ERROR_INDEX,
        Error::Op(OpError::LengthOutOfRange { .. }) => TRUNDLE_ERROR_LENGTH,
        Error::DType(DTypeError::UnknownDType { .. }) => TRUNDLE_ERROR_UNKNOWN_DTYPE,
        Error::DType(_) => TRUNDLE_ERROR_DTYPE,
        Error::Layout(LayoutError::OverlappingLayout { .. }) => TRUNDLE_ERROR_SELF_OVERLAP,
        Error::Layout(_) => TRUNDLE_ERROR_BUFFER_SIZE,
        // No C function can cause missing index maps, invalid moves or stopped runs.
        _ => TRUNDLE_ERROR_INTERNAL,
    }
}

pub(crate) fn status_of_model(error: &ModelError) -> trundle_status {
    match error {
        ModelError::Io { .. } => TRUNDLE_ERROR_FILE,
        ModelError::Malformed(_) | ModelError::Link(_) | ModelError::Node { .. } => {
            TRUNDLE_ERROR_MODEL
        }
        ModelError::Unsupported(_) => TRUNDLE_ERROR_UNSUPPORTED,
        ModelError::Input(_) => TRUNDLE_ERROR_SHAPE,
        // The other errors mean a stopped run, which no C function can cause.
        _ => TRUNDLE_ERROR_INTERNAL,
    }
}
