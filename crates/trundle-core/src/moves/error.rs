use core::ops::Range;

use crate::Shape;

refusals! {
    /// The reason why a movement is not possible.
    MoveError {
        /// A map cannot run in one pass, because of gaps in the layouts or because it has too many boxes.
        NotOnePass {
            /// The shape of the source.
            from: Shape,
            /// The shape of the output.
            to: Shape,
        } => "a move from shape {from} to shape {to} with these layouts takes more than one pass over memory";
        /// A tensor cannot be moved in place within the limit of scratch memory.
        NotInPlace {
            /// The size of the tensor in bytes.
            bytes: usize,
            /// The limit of scratch memory in bytes.
            most_scratch: usize,
        } => "{bytes} bytes cannot be moved in place with {most_scratch} bytes of scratch memory";
        /// A map reads outside its source, which `IndexMap::within_source` made too small.
        CoordinateOutOfBounds {
            /// The half-open range of coordinates that the map reads.
            range: Range<isize>,
            /// The size of the axis.
            size: usize,
        } => "the map reads {range:?} of a source axis of size {size}";
        /// The movement duplicates or drops elements, which is not allowed for values that own memory.
        NotABijection => "the move does not write every element exactly once";
    }
}
