//! Errors about movements.

use std::ops::Range;

use crate::Shape;

refusals! {
    /// The reason why a movement is rejected.
    MoveError {
        /// The layouts do not allow a map of merged and split axes to run in one pass.
        NotOnePass {
            /// The shape of the source.
            from: Shape,
            /// The shape of the output.
            to: Shape,
        } => "a move from shape {from} to shape {to} with these layouts takes more than one pass over memory";
        /// A tensor cannot be moved in place with so little scratch memory.
        NotInPlace {
            /// The size of the tensor in bytes.
            bytes: usize,
            /// The scratch memory allowed, in bytes.
            most_scratch: usize,
        } => "{bytes} bytes cannot be moved in place with {most_scratch} bytes of scratch memory";
        /// A map reads outside its source, which `IndexMap::within_source` made too small.
        CoordinateOutOfBounds {
            /// The half-open range of coordinates that the map reads.
            range: Range<isize>,
            /// The size of the axis.
            size: usize,
        } => "the map reads {range:?} of a source axis of size {size}";
        /// The movement duplicates or drops elements, which is not allowed for values that own resources.
        NotABijection => "the move does not write every element exactly once";
    }
}
