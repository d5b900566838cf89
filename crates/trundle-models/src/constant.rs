//! Tensors that a model file holds.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use trundle_core::{DType, Shape};

/// What the elements of a tensor of a model are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Elements of a fixed size, packed ones in their default order.
    Fixed(DType),
    /// Texts.
    String,
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementType::Fixed(dtype) => dtype.fmt(f),
            ElementType::String => f.pad("string"),
        }
    }
}

/// A tensor, its elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The type of its elements.
    pub element: ElementType,
    /// Its shape.
    pub shape: Shape,
    /// As many elements as the shape has: whoever makes a constant checks that.
    pub data: Data,
}

/// The elements of a constant.
#[derive(Clone, PartialEq, Eq)]
pub enum Data {
    /// Little-endian elements, packed ones as [`DType::packing`] says, unused bits 0.
    Bytes(Bytes),
    /// One text an element.
    Strings(Arc<[String]>),
}

impl fmt::Debug for Data {
    /// Bytes as numbers, not as the text that they are not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Bytes(bytes) => f.debug_tuple("Bytes").field(&&bytes[..]).finish(),
            Data::Strings(texts) => f.debug_tuple("Strings").field(texts).finish(),
        }
    }
}
