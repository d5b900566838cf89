use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{Error, Shape};

refusals! {
    /// The reason why an operator does not accept its arguments.
    OpError {
        /// On an axis other than the indexed one, the indices of a gather are larger than the data.
        TooManyIndices {
            /// The shape of the indices.
            indices: Shape,
            /// The shape of the data.
            shape: Shape,
        } => "indices of shape {indices} reach beyond data of shape {shape}";
        /// An axis without elements was to be padded with elements of the tensor.
        EmptyAxisPadded {
            /// The axis.
            axis: usize,
            /// The requested number of elements on one side.
            width: usize,
        } => "axis {axis} has no elements to pad with (width {width})";
        /// A number is outside the range of its argument.
        NumberOutOfRange {
            /// The argument.
            argument: &'static str,
            /// The number.
            number: i64,
            /// The allowed values.
            expected: &'static str,
        } => "{argument} {number} is out of range: expected {expected}";
        /// A length is negative or greater than the size of the axis, in an operator that does not clamp.
        LengthOutOfRange {
            /// The index of the length in the list of lengths.
            index: usize,
            /// The length.
            length: i128,
            /// The size of the reversed axis.
            size: usize,
        } => "length {length} at index {index} is out of range for an axis of size {size}: expected 0..={size}";
        /// An index is outside its axis.
        IndexOutOfRange {
            /// The index.
            index: i64,
            /// The position of the wrong index in the tensor of indices.
            position: Vec<usize>,
            /// The size of the axis.
            size: usize,
        } => "index {index} at {position:?} is out of range for an axis of size {size}{}", indices_of(*size);
        /// A window is larger than its axis.
        WindowTooLarge {
            /// The axis.
            axis: usize,
            /// The distance from the first to the last element of the window, both included.
            extent: usize,
            /// The size of the axis.
            size: usize,
        } => "a window of {extent} along axis {axis} is larger than the axis, which has size {size}";
        /// The result of an operator depends on more than one tensor or on a constant.
        NoIndexMap {
            /// The operator.
            operator: String,
        } => "{operator} reads several tensors or a constant, so it has no index map";
    }
}

pub(crate) fn out_of_range(argument: &'static str, number: usize, expected: &'static str) -> Error {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    OpError::NumberOutOfRange { argument, number, expected }.into()
}

/// Converts an argument that must not be negative.
pub(super) fn count_of(argument: &'static str, number: i64) -> Result<usize, OpError> {
    let expected = "0 or more";
    usize::try_from(number).map_err(|_| OpError::NumberOutOfRange { argument, number, expected })
}

fn indices_of(size: usize) -> String {
    match size.checked_sub(1) {
        Some(last) => format!(": expected -{size}..={last}"),
        None => ", which has no elements".to_owned(),
    }
}
