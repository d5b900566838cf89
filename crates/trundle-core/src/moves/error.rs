//! Why a movement is refused.

use std::ops::Range;

use crate::Shape;

refusals! {
    /// Why a movement is refused.
    MoveError {
        /// A map of merged and split axes between layouts that it does not fit in one pass.
        NotOnePass {
            /// The shape of the source.
            from: Shape,
            /// The shape of the output.
            to: Shape,
        } => "from these layouts of shape {from} to shape {to} takes more than one pass over memory";
        /// A tensor cannot be moved within its own buffer with so little beside it.
        NotInPlace {
            /// The bytes of the tensor.
            bytes: usize,
            /// The bytes beside it that there may be.
            most_scratch: usize,
        } => "{bytes} bytes cannot be moved so within their own place with {most_scratch} bytes of scratch";
        /// A map reads outside of its source, which `IndexMap::within_source` has made too small for it.
        CoordinateOutOfBounds {
            /// From the least to behind the greatest coordinate that is read.
            range: Range<isize>,
            /// The size of the axis.
            size: usize,
        } => "the map reads {range:?} of a source axis of size {size}";
        /// A movement of values that own something would lose some, or give some twice.
        NotABijection => "the movement does not give every element once";
    }
}
