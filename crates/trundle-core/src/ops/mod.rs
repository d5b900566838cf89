//! The operators: a file for each, with the name and the parameters of its specification.

#[macro_use]
mod declaration;
mod broadcast;
mod concat;
mod error;
mod fftshift;
mod flip;
mod gather_elements;
mod gather_nd;
mod ifftshift;
mod indices;
mod operand;
mod pad;
mod pad_constant;
mod put_along_axis;
mod rearrange;
mod repeat;
mod reshape;
mod reverse_sequence;
mod reverse_subsequences;
mod roll;
mod rot90;
mod scalar;
mod scatter_nd;
mod slice;
mod slice_scatter;
mod stack;
mod take;
mod take_along_axis;
mod tile;
mod transpose;
mod windows;

use alloc::string::ToString;
use core::fmt;

pub use broadcast::Broadcast;
pub use concat::Concat;
pub use declaration::{Declaration, Kind, Parameter};
pub use error::OpError;
pub(crate) use error::out_of_range;
pub use fftshift::FftShift;
pub use flip::Flip;
pub use gather_elements::GatherElements;
pub use gather_nd::GatherNd;
pub use ifftshift::IfftShift;
pub use indices::{IndexMode, Indices};
pub use operand::Operand;
#[doc(hidden)]
pub use pad::widths as pad_widths;
pub use pad::{Pad, PadMode};
pub use pad_constant::PadConstant;
pub use put_along_axis::PutAlongAxis;
pub use rearrange::{Group, Part, PatternFault, Rearrange, Side};
pub use repeat::Repeat;
pub use reshape::Reshape;
pub use reverse_sequence::ReverseSequence;
pub use reverse_subsequences::{LengthBuffer, ReverseSubsequences};
pub use roll::Roll;
pub use rot90::Rot90;
pub use scalar::{NotANumber, Scalar};
pub use scatter_nd::ScatterNd;
pub use slice::Slice;
pub use slice_scatter::SliceScatter;
pub use stack::Stack;
pub use take::Take;
pub use take_along_axis::TakeAlongAxis;
pub use tile::Tile;
pub use transpose::Transpose;
pub use windows::Windows;

use crate::{Error, IndexMap, Result, Shape};

/// Declares the enum [`Op`], with a line for each operator: its fingerprint tag and its description.
macro_rules! operators {
    ($($operator:ident $tag:literal, $doc:literal;)*) => {
        /// An operator with its parameters, for tensors of every shape that fits them.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Op {
            $(#[doc = $doc] $operator($operator),)*
        }

        crate::fingerprint!(enum Op { $($tag $operator(operator),)* });

        #[cfg(test)]
        pub(crate) fn parameters() -> alloc::vec::Vec<(&'static str, &'static str)> {
            let mut parameters = alloc::vec::Vec::new();
            $(for name in <$operator as crate::Fingerprint>::PARTS {
                parameters.push(($tag, *name));
            })*
            parameters
        }

        impl Op {
            /// The index map of the operator for a tensor of this shape.
            ///
            /// # Errors
            /// The errors of the operator's own `index_map`. [`OpError::NoIndexMap`](crate::OpError::NoIndexMap) for an
            /// operator that takes several tensors or a constant, which needs
            /// [`Program::made_by`](crate::Program::made_by).
            pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
                match self {
                    $(Op::$operator(operator) => operator.index_map(shape),)*
                }
            }
        }

        impl fmt::Display for Op {
            /// Writes the operator as a stage of the chain language. `{:#}` abbreviates long lists of lengths.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Op::$operator(operator) => operator.fmt(f),)*
                }
            }
        }

        $(impl From<$operator> for Op {
            fn from(operator: $operator) -> Op {
                Op::$operator(operator)
            }
        })*
    };
}

operators! {
    Broadcast "broadcast", "Repeats axes of size 1, and adds axes in front.";
    Concat "concat", "Joins tensors along an axis.";
    FftShift "fftshift", "Rolls axes by half of their size.";
    Flip "flip", "Reverses the elements along axes.";
    GatherNd "gather_nd", "Takes elements or slices at indices of several axes.";
    IfftShift "ifftshift", "Rolls axes back by half of their size.";
    Pad "pad", "Pads the tensor with its own elements.";
    PadConstant "pad_constant", "Pads the tensor with a constant.";
    PutAlongAxis "put_along_axis", "Writes values at indices along an axis.";
    Rearrange "rearrange", "Splits, permutes and merges axes by a pattern.";
    Repeat "repeat", "Repeats each element along an axis.";
    Reshape "reshape", "Changes the sizes of the axes, keeping the order of elements.";
    ReverseSequence "reverse_sequence",
        "Reverses the first elements along an axis, with a length for each batch.";
    ReverseSubsequences "reverse_subsequences",
        "Reverses the first elements along an axis, with a length for each row.";
    Roll "roll", "Shifts elements cyclically along axes.";
    Rot90 "rot90", "Rotates by quarter turns in the plane of two axes.";
    ScatterNd "scatter_nd", "Writes elements or slices at indices of several axes.";
    Slice "slice", "Keeps the elements from a start to a stop, with a step, along axes.";
    SliceScatter "slice_scatter", "Replaces a slice by another tensor.";
    Stack "stack", "Joins tensors along a new axis.";
    Take "take", "Takes slices at indices along an axis.";
    TakeAlongAxis "take_along_axis", "Takes elements at indices along an axis.";
    Tile "tile", "Repeats the tensor along its axes.";
    Transpose "transpose", "Permutes the axes.";
    Windows "windows", "Extracts sliding windows as new axes.";
}

macro_rules! no_index_map {
    ($($operator:ident),*) => {
        $(impl $operator {
            /// Always fails: the result depends on more than one tensor.
            ///
            /// # Errors
            /// [`OpError::NoIndexMap`], always.
            pub fn index_map(&self, _: &Shape) -> Result<IndexMap> {
                Err(Error::Op(OpError::NoIndexMap { operator: self.to_string() }))
            }
        })*

        impl Op {
            /// Whether the operator takes one tensor and no constant, so that it has an index map.
            pub fn is_map(&self) -> bool {
                !matches!(self, $(Op::$operator(_))|*)
            }
        }
    };
}

no_index_map!(Concat, PadConstant, PutAlongAxis, ScatterNd, SliceScatter, Stack);

impl Op {
    /// The tensors that the operator takes; for most operators, only the previous result.
    pub fn operands(&self) -> &[Operand] {
        match self {
            Op::Concat(concat) => concat.inputs(),
            Op::Stack(stack) => stack.inputs(),
            Op::PutAlongAxis(put) => put.inputs(),
            Op::ScatterNd(scatter) => scatter.inputs(),
            Op::SliceScatter(scatter) => scatter.inputs(),
            _ => &[Operand::Previous],
        }
    }

    /// For a scatter, the map from indices of the updates to the indices that they replace; `None` for other operators.
    ///
    /// # Errors
    /// The errors of the operator's own `targets`.
    pub fn targets(&self, shape: &Shape) -> Result<Option<IndexMap>> {
        match self {
            Op::PutAlongAxis(put) => put.targets(shape).map(Some),
            Op::ScatterNd(scatter) => scatter.targets(shape).map(Some),
            Op::SliceScatter(scatter) => scatter.targets(shape).map(Some),
            _ => Ok(None),
        }
    }
}

/// The operators that have a name in the chain language, sorted by name.
pub static DECLARATIONS: [&Declaration; 21] = [
    Broadcast::DECLARATION,
    Concat::DECLARATION,
    FftShift::DECLARATION,
    Flip::DECLARATION,
    IfftShift::DECLARATION,
    Pad::DECLARATION,
    PutAlongAxis::DECLARATION,
    Repeat::DECLARATION,
    Reshape::DECLARATION,
    ReverseSubsequences::DECLARATION,
    Roll::DECLARATION,
    Rot90::DECLARATION,
    ScatterNd::DECLARATION,
    Slice::DECLARATION,
    SliceScatter::DECLARATION,
    Stack::DECLARATION,
    Take::DECLARATION,
    TakeAlongAxis::DECLARATION,
    Tile::DECLARATION,
    Transpose::DECLARATION,
    Windows::DECLARATION,
];
