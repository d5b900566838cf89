//! Every refusal: which argument, and both numbers.

use std::fmt;
use std::ops::Range;

use crate::ops::{PatternFault, known_elements};
use crate::{BitOrder, DType, Shape, Width};

/// The result of anything that can refuse its arguments.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why arguments were refused. Nothing has been written when one of these is returned, but for
/// [`Error::Stopped`] and [`Error::DeviceFailed`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An axis lies outside `-rank..rank`, or outside `0..rank` where negatives are not allowed.
    AxisOutOfRange {
        /// The argument that named it.
        argument: &'static str,
        /// The axis as it was given.
        axis: i64,
        /// The rank of the tensor.
        rank: usize,
        /// Whether `-rank..=-1` would have been accepted.
        negative_allowed: bool,
    },
    /// An axis stands twice where each may stand once.
    RepeatedAxis {
        /// The argument that named it.
        argument: &'static str,
        /// The axis.
        axis: i64,
    },
    /// Two arguments that must have as many entries as each other do not.
    SizesDiffer {
        /// The first argument.
        left: &'static str,
        /// The second argument, or what it is held against.
        right: &'static str,
        /// Entries of the first.
        left_size: usize,
        /// Entries of the second.
        right_size: usize,
    },
    /// A tensor has not the shape that is needed.
    ShapeMismatch {
        /// Whose shape it is.
        argument: &'static str,
        /// The shape it must have.
        expected: Shape,
        /// The shape it has.
        got: Shape,
    },
    /// A reshape between shapes that have not as many elements as each other.
    ElementsDiffer {
        /// The shape that there is.
        from: Shape,
        /// The shape that is wanted.
        to: Shape,
    },
    /// The sizes of a reshape cannot have as many elements as the shape, or leave open what -1 is.
    SizesDoNotFit {
        /// The shape that there is.
        shape: Shape,
        /// The sizes that are wanted; -1 is what is left.
        sizes: Vec<i64>,
    },
    /// A tensor of this shape cannot be broadcast to these sizes.
    SizesDoNotBroadcast {
        /// The shape that there is.
        shape: Shape,
        /// The sizes that are wanted.
        sizes: Vec<i64>,
    },
    /// The indices of a gather are more than the positions that there are for them.
    TooManyIndices {
        /// Their shape.
        indices: Shape,
        /// The shape of what they are for.
        shape: Shape,
    },
    /// Elements of an axis are to be put around it, and it has none.
    EmptyAxisPadded {
        /// The axis.
        axis: usize,
        /// How many are wanted on one side.
        width: usize,
    },
    /// An axis pattern is no pattern, or does not fit the shape.
    Pattern(Box<PatternFault>),
    /// A number is outside what its argument may be.
    NumberOutOfRange {
        /// The argument.
        argument: &'static str,
        /// The number.
        number: i64,
        /// What it may be.
        expected: &'static str,
    },
    /// A map of merged and split axes between layouts that it does not fit in one pass.
    NotOnePass {
        /// The shape of the source.
        from: Shape,
        /// The shape of the output.
        to: Shape,
    },
    /// A tensor cannot be moved within its own buffer with so little beside it.
    NotInPlace {
        /// The bytes of the tensor.
        bytes: usize,
        /// The bytes beside it that there may be.
        most_scratch: usize,
    },
    /// A tensor has not the element type that is needed.
    DTypeMismatch {
        /// Whose element type it is.
        argument: &'static str,
        /// The types it may have.
        expected: Vec<DType>,
        /// The type it has.
        got: DType,
    },
    /// Tensors that are joined have elements of two widths.
    WidthsDiffer {
        /// That of the first part.
        expected: Width,
        /// That of another.
        got: Width,
    },
    /// Elements of a slice are not whole elements of the movement.
    WidthMismatch {
        /// The bytes that the movement keeps together, wherever it moves them.
        moved: usize,
        /// The size of an element of the slice in bytes.
        got: usize,
    },
    /// No element type has this name.
    UnknownDType {
        /// The name.
        name: String,
    },
    /// A length is below 0 or over the size of the axis, in an operator that does not clamp.
    LengthOutOfRange {
        /// Which length, counted from 0.
        index: usize,
        /// The length.
        length: i128,
        /// The size of the axis that is reversed.
        size: usize,
    },
    /// An index does not lie within its axis.
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// Where it stands among the indices.
        position: Vec<usize>,
        /// The size of the axis.
        size: usize,
    },
    /// A window is larger than what it is moved along.
    WindowTooLarge {
        /// The axis.
        axis: usize,
        /// From the first element of the window to its last, both counted.
        extent: usize,
        /// The size of the axis.
        size: usize,
    },
    /// The batch axis and the sequence axis are the same.
    SameAxis {
        /// The first argument.
        left: &'static str,
        /// The second argument.
        right: &'static str,
        /// The axis they both name, after normalisation.
        axis: usize,
    },
    /// Sizes multiply, or strides reach, beyond what can be addressed.
    TooLarge {
        /// What is too large.
        what: String,
    },
    /// A range of indices runs backwards, or reaches outside its axis.
    RangeOutOfBounds {
        /// The range.
        range: Range<usize>,
        /// The size of the axis.
        size: usize,
    },
    /// A map reads outside of its source, which [`IndexMap::within_source`](crate::IndexMap::within_source) has made too small for it.
    CoordinateOutOfBounds {
        /// From the least to behind the greatest coordinate that is read.
        range: Range<isize>,
        /// The size of the axis.
        size: usize,
    },
    /// A layout reaches outside its buffer.
    OutOfBounds {
        /// Whose buffer it is.
        argument: &'static str,
        /// The first byte the layout reaches.
        first: isize,
        /// The byte after the last it reaches.
        end: isize,
        /// The size of the buffer in bytes.
        buffer: usize,
    },
    /// The layout of a packed tensor reaches outside its buffer.
    PackedOutOfBounds {
        /// Whose buffer it is.
        argument: &'static str,
        /// The bits of an element.
        bits: usize,
        /// The first element the layout reaches, counted from the start of the buffer.
        first: isize,
        /// The element after the last it reaches.
        end: isize,
        /// The size of the buffer in bytes.
        buffer: usize,
    },
    /// Elements of a type cannot be packed in an order.
    NoSuchPacking {
        /// The type.
        dtype: DType,
        /// The order.
        order: BitOrder,
    },
    /// A number is not an element of a type.
    NoSuchElement {
        /// The number.
        value: String,
        /// The type.
        dtype: DType,
    },
    /// What an operator makes is not of the elements of one tensor alone.
    NoIndexMap {
        /// The operator.
        operator: String,
    },
    /// A movement of values that own something would lose some, or give some twice.
    NotABijection,
    /// Elements are packed in another order than is needed.
    PackingMismatch {
        /// Whose elements they are.
        argument: &'static str,
        /// Their type.
        dtype: DType,
        /// The order that they must have.
        expected: BitOrder,
        /// The order that they have.
        got: BitOrder,
    },
    /// An output layout addresses one byte as part of two elements.
    OverlappingLayout {
        /// The layout's shape.
        shape: Shape,
        /// Its strides in bytes.
        strides_bytes: Vec<isize>,
        /// The size of an element in bytes.
        width: usize,
    },
    /// A movement was stopped by whoever asked for it, before all was moved.
    Stopped,
    /// What moves elements failed: a device was lost, or has no memory left. Any elements may have been written then.
    DeviceFailed {
        /// What it says.
        message: String,
    },
}

/// Checks that two arguments have as many entries as each other.
pub(crate) fn check_sizes(
    (left, left_size): (&'static str, usize),
    (right, right_size): (&'static str, usize),
) -> Result<()> {
    match left_size == right_size {
        true => Ok(()),
        false => Err(Error::SizesDiffer { left, right, left_size, right_size }),
    }
}

/// Checks that a buffer has the bytes that are read or written there.
///
/// # Errors
/// [`Error::OutOfBounds`].
#[inline]
pub fn check_buffer(argument: &'static str, needed: usize, buffer: usize) -> Result<()> {
    if buffer >= needed {
        return Ok(());
    }
    Err(Error::OutOfBounds { argument, first: 0, end: needed.cast_signed(), buffer })
}

/// Checks that a tensor has the shape that it must have.
pub(crate) fn check_shape(argument: &'static str, expected: &Shape, got: &Shape) -> Result<()> {
    match expected == got {
        true => Ok(()),
        false => {
            Err(Error::ShapeMismatch { argument, expected: expected.clone(), got: got.clone() })
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AxisOutOfRange { argument, axis, rank: 0, .. } => {
                write!(
                    f,
                    "{argument} {axis} is out of range: the tensor has rank 0, and so no axes"
                )
            }
            Error::AxisOutOfRange { argument, axis, rank, negative_allowed } => {
                let least = if *negative_allowed { format!("-{rank}") } else { "0".to_owned() };
                write!(
                    f,
                    "{argument} {axis} is out of range for rank {rank}: expected {least}..={}",
                    rank - 1
                )
            }
            Error::RepeatedAxis { argument, axis } => write!(f, "{argument} has axis {axis} twice"),
            Error::SizesDiffer { left, right, left_size, right_size } => write!(
                f,
                "{left} and {right} must have equal sizes, got {left_size} and {right_size}"
            ),
            Error::ShapeMismatch { argument, expected, got } => {
                write!(f, "{argument} must have shape {expected}, got {got}")
            }
            Error::ElementsDiffer { from, to } => write!(
                f,
                "shape {from} has {} elements, and shape {to} has {}",
                from.elements(),
                to.elements()
            ),
            Error::SizesDoNotBroadcast { shape, sizes } => {
                write!(f, "shape {shape} cannot be broadcast to {sizes:?}")
            }
            Error::TooManyIndices { indices, shape } => {
                write!(f, "indices of shape {indices} reach beyond data of shape {shape}")
            }
            Error::EmptyAxisPadded { axis, width } => {
                write!(f, "axis {axis} has no elements, and cannot be padded by {width} of them")
            }
            Error::SizesDoNotFit { shape, sizes } => {
                let elements = shape.elements();
                let inferred = sizes.iter().filter(|size| **size == -1).count();
                let have = match (known_elements(sizes), inferred) {
                    (_, 2..) => {
                        return write!(
                            f,
                            "sizes {sizes:?} have -1 more than once: only one of them can be what \
                             is left of the {elements} elements of shape {shape}"
                        );
                    }
                    (None, _) => "more elements than can be counted".to_owned(),
                    (Some(known), 0) => format!("{known} elements"),
                    (Some(0), _) => "no elements, whatever -1 is".to_owned(),
                    (Some(known), _) => format!("a multiple of {known} elements"),
                };
                write!(f, "sizes {sizes:?} have {have}, and shape {shape} has {elements}")
            }
            Error::Pattern(fault) => fault.fmt(f),
            Error::NumberOutOfRange { argument, number, expected } => {
                write!(f, "{argument} {number} is out of range: expected {expected}")
            }
            Error::NotInPlace { bytes, most_scratch } => write!(
                f,
                "{bytes} bytes cannot be moved so within their own place with {most_scratch} bytes of scratch"
            ),
            Error::NotOnePass { from, to } => write!(
                f,
                "from these layouts of shape {from} to shape {to} takes more than one pass over \
                 memory"
            ),
            Error::DTypeMismatch { argument, expected, got } => {
                let expected: Vec<String> = expected.iter().map(DType::to_string).collect();
                let expected = expected.join(" or ");
                write!(f, "{argument} must have element type {expected}, got {got}")
            }
            Error::WidthsDiffer { expected, got } => {
                write!(f, "elements of {expected} are expected, got {got}")
            }
            Error::WidthMismatch { moved, got } => write!(
                f,
                "elements of {got} bytes would be torn apart: the movement keeps {moved} bytes \
                 together"
            ),
            Error::UnknownDType { name } => {
                write!(f, "unknown element type \"{name}\": expected one of")?;
                for dtype in DType::NAMED {
                    write!(f, " {dtype}")?;
                }
                write!(f, " bytesN")
            }
            Error::LengthOutOfRange { index, length, size } => write!(
                f,
                "length {length} at index {index} is out of range for an axis of size {size}: \
                 expected 0..={size}"
            ),
            Error::IndexOutOfRange { index, position, size: 0 } => write!(
                f,
                "index {index} at {position:?} is out of range for an axis of size 0, which has no \
                 elements"
            ),
            Error::IndexOutOfRange { index, position, size } => write!(
                f,
                "index {index} at {position:?} is out of range for an axis of size {size}: \
                 expected -{size}..={}",
                size - 1
            ),
            Error::WindowTooLarge { axis, extent, size } => write!(
                f,
                "a window of {extent} along axis {axis} is larger than the axis, which has size \
                 {size}"
            ),
            Error::SameAxis { left, right, axis } => {
                write!(f, "{left} and {right} must differ, both are axis {axis}")
            }
            Error::TooLarge { what } => write!(f, "{what} is too large to be addressed"),
            Error::RangeOutOfBounds { range, size } => {
                write!(f, "bounds {range:?} do not lie within an axis of size {size}")
            }
            Error::CoordinateOutOfBounds { range, size } => {
                write!(f, "the map reads {range:?} of a source axis of size {size}")
            }
            Error::OutOfBounds { argument, first, end, buffer } => write!(
                f,
                "{argument} reaches bytes {first}..{end}, but its buffer has {buffer} bytes"
            ),
            Error::PackedOutOfBounds { argument, bits, first, end, buffer } => write!(
                f,
                "{argument} reaches elements {first}..{end} of {bits} bits, but its buffer has \
                 {buffer} bytes"
            ),
            Error::NoSuchPacking { dtype, order } => {
                write!(f, "elements of type {dtype} are not packed {order}")
            }
            Error::NoSuchElement { value, dtype } => {
                write!(f, "{value} is not an element of type {dtype}")
            }
            Error::NoIndexMap { operator } => {
                write!(
                    f,
                    "{operator} makes a tensor of several, or of a constant: no map of one tensor says that"
                )
            }
            Error::NotABijection => f.write_str("the movement does not give every element once"),
            Error::PackingMismatch { argument, dtype, expected, got } => write!(
                f,
                "{argument} must hold elements of type {dtype} that are packed {expected}, got \
                 {got}"
            ),
            Error::OverlappingLayout { shape, strides_bytes, width } => write!(
                f,
                "output of shape {shape} with strides {strides_bytes:?} in bytes would write some \
                 byte twice: its elements of {width} bytes overlap"
            ),
            Error::Stopped => {
                f.write_str("the movement was stopped before its end: the output is incomplete")
            }
            Error::DeviceFailed { message } => write!(f, "the device failed: {message}"),
        }
    }
}
