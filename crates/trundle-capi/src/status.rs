//! What a call returns: a number for each kind of refusal.

use trundle::{DTypeError, Error, LayoutError, OpError, ShapeError};
use trundle_models::Error as ModelError;

/// TRUNDLE_OK, or one of TRUNDLE_ERROR_*. Other numbers may be added.
pub type trundle_status = i32;

/// The call did what it was asked to.
pub const TRUNDLE_OK: trundle_status = 0;
/// A pointer is NULL where something must be read or written.
pub const TRUNDLE_ERROR_NULL_POINTER: trundle_status = 1;
/// A pointer is not aligned as C wants its type.
pub const TRUNDLE_ERROR_MISALIGNED: trundle_status = 2;
/// A rank is higher, or a list longer, than any that is meant.
pub const TRUNDLE_ERROR_RANK: trundle_status = 3;
/// Sizes multiply, or strides reach, beyond what can be addressed.
pub const TRUNDLE_ERROR_TOO_LARGE: trundle_status = 4;
/// No element type has this number or name.
pub const TRUNDLE_ERROR_UNKNOWN_DTYPE: trundle_status = 5;
/// A tensor has not the element type that is needed.
pub const TRUNDLE_ERROR_DTYPE: trundle_status = 6;
/// Shapes, or the lengths of lists, do not fit each other.
pub const TRUNDLE_ERROR_SHAPE: trundle_status = 7;
/// An axis is out of range, or named twice.
pub const TRUNDLE_ERROR_AXIS: trundle_status = 8;
/// A length of a sequence is out of range, in an operator that does not clamp it.
pub const TRUNDLE_ERROR_LENGTH: trundle_status = 9;
/// The memory of an output overlaps something that is read, or another output.
pub const TRUNDLE_ERROR_OVERLAP: trundle_status = 10;
/// Elements of the output overlap each other.
pub const TRUNDLE_ERROR_SELF_OVERLAP: trundle_status = 11;
/// A buffer is smaller than its tensor.
pub const TRUNDLE_ERROR_BUFFER_SIZE: trundle_status = 12;
/// A DirectML feature level does not have what is asked for.
pub const TRUNDLE_ERROR_FEATURE_LEVEL: trundle_status = 13;
/// The library has a fault. What it was writing may be incomplete.
pub const TRUNDLE_ERROR_INTERNAL: trundle_status = 14;

/// A text is no chain.
pub const TRUNDLE_ERROR_CHAIN: trundle_status = 15;
/// A number of a chain's stage is out of range, such as a step of 0.
pub const TRUNDLE_ERROR_NUMBER: trundle_status = 16;

/// An index of a gather or a scatter is out of range.
pub const TRUNDLE_ERROR_INDEX: trundle_status = 17;

/// A file cannot be read.
pub const TRUNDLE_ERROR_FILE: trundle_status = 18;
/// A file is no model, or its operators do not fit each other or the inputs.
pub const TRUNDLE_ERROR_MODEL: trundle_status = 19;
/// A model has operators that compute, or that are not supported.
pub const TRUNDLE_ERROR_UNSUPPORTED: trundle_status = 20;

/// The number for what a refusal of the crate `trundle` is about.
pub(crate) fn status_of(error: &Error) -> trundle_status {
    match error {
        Error::Shape(
            ShapeError::AxisOutOfRange { .. }
            | ShapeError::RepeatedAxis { .. }
            | ShapeError::SameAxis { .. },
        ) => TRUNDLE_ERROR_AXIS,
        Error::Shape(ShapeError::TooLarge { .. }) => TRUNDLE_ERROR_TOO_LARGE,
        Error::Op(OpError::TooManyIndices { .. } | OpError::EmptyAxisPadded { .. })
        | Error::Shape(_)
        | Error::Pattern(_) => TRUNDLE_ERROR_SHAPE,
        Error::Op(OpError::NumberOutOfRange { .. }) => TRUNDLE_ERROR_NUMBER,
        Error::Op(OpError::IndexOutOfRange { .. }) => TRUNDLE_ERROR_INDEX,
        Error::Op(OpError::LengthOutOfRange { .. }) => TRUNDLE_ERROR_LENGTH,
        Error::DType(DTypeError::UnknownDType { .. }) => TRUNDLE_ERROR_UNKNOWN_DTYPE,
        Error::DType(_) => TRUNDLE_ERROR_DTYPE,
        Error::Layout(LayoutError::OverlappingLayout { .. }) => TRUNDLE_ERROR_SELF_OVERLAP,
        Error::Layout(_) => TRUNDLE_ERROR_BUFFER_SIZE,
        // No C function has maps of operators, or stops a movement.
        _ => TRUNDLE_ERROR_INTERNAL,
    }
}

/// The number for what a refusal of the crate `trundle-models` is about.
pub(crate) fn status_of_model(error: &ModelError) -> trundle_status {
    match error {
        ModelError::Io { .. } => TRUNDLE_ERROR_FILE,
        ModelError::Malformed(_) | ModelError::Link(_) | ModelError::Node { .. } => {
            TRUNDLE_ERROR_MODEL
        }
        ModelError::Unsupported(_) => TRUNDLE_ERROR_UNSUPPORTED,
        ModelError::Input(_) => TRUNDLE_ERROR_SHAPE,
        // What is left is about runs that are stopped, which no C function has.
        _ => TRUNDLE_ERROR_INTERNAL,
    }
}
