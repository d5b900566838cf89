//! Why the arguments of an operator are refused.

use crate::Shape;

refusals! {
    /// Why what an operator is given is refused.
    OpError {
        /// The indices of a gather are more than the positions that there are for them.
        TooManyIndices {
            /// Their shape.
            indices: Shape,
            /// The shape of what they are for.
            shape: Shape,
        } => "indices of shape {indices} reach beyond data of shape {shape}";
        /// Elements of an axis are to be put around it, and it has none.
        EmptyAxisPadded {
            /// The axis.
            axis: usize,
            /// How many are wanted on one side.
            width: usize,
        } => "axis {axis} has no elements, and cannot be padded by {width} of them";
        /// A number is outside what its argument may be.
        NumberOutOfRange {
            /// The argument.
            argument: &'static str,
            /// The number.
            number: i64,
            /// What it may be.
            expected: &'static str,
        } => "{argument} {number} is out of range: expected {expected}";
        /// A length is below 0 or over the size of the axis, in an operator that does not clamp.
        LengthOutOfRange {
            /// Which length, counted from 0.
            index: usize,
            /// The length.
            length: i128,
            /// The size of the axis that is reversed.
            size: usize,
        } => "length {length} at index {index} is out of range for an axis of size {size}: expected 0..={size}";
        /// An index does not lie within its axis.
        IndexOutOfRange {
            /// The index.
            index: i64,
            /// Where it stands among the indices.
            position: Vec<usize>,
            /// The size of the axis.
            size: usize,
        } => "index {index} at {position:?} is out of range for an axis of size {size}{}", indices_of(*size);
        /// A window is larger than what it is moved along.
        WindowTooLarge {
            /// The axis.
            axis: usize,
            /// From the first element of the window to its last, both counted.
            extent: usize,
            /// The size of the axis.
            size: usize,
        } => "a window of {extent} along axis {axis} is larger than the axis, which has size {size}";
        /// What an operator makes is not of the elements of one tensor alone.
        NoIndexMap {
            /// The operator.
            operator: String,
        } => "{operator} makes a tensor of several, or of a constant: no map of one tensor says that";
    }
}

/// A count from an argument that may be negative.
pub(super) fn count_of(argument: &'static str, number: i64) -> Result<usize, OpError> {
    let expected = "a number that is not negative";
    usize::try_from(number).map_err(|_| OpError::NumberOutOfRange { argument, number, expected })
}

/// The indices that an axis of this size has, as the end of a message.
fn indices_of(size: usize) -> String {
    match size.checked_sub(1) {
        Some(last) => format!(": expected -{size}..={last}"),
        None => ", which has no elements".to_owned(),
    }
}
