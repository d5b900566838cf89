//! Tensors that a model file holds.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use trundle_core::{DType, Shape, ShapeError};

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

/// The bytes, or texts, that a tensor holds.
pub(crate) fn entries(element: ElementType, shape: &Shape) -> Result<usize, ShapeError> {
    match element {
        ElementType::Fixed(dtype) => shape.bytes(dtype),
        ElementType::String => shape.bytes(size_of::<String>()).map(|_| shape.elements()),
    }
}

/// These elements of a packed type with the bits after the last one as 0.
pub(crate) fn unused_cleared(bytes: Bytes, dtype: DType, elements: usize) -> Bytes {
    let Some(packing) = dtype.packing() else { return bytes };
    let unused = elements..bytes.len() * 8 / packing.bits();
    if unused.clone().all(|at| packing.get(&bytes, at) == 0) {
        return bytes;
    }
    let mut bytes = bytes.to_vec();
    unused.for_each(|at| packing.set(&mut bytes, at, 0));
    bytes.into()
}

/// Elements that are read, whoever has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements<'a> {
    /// As of [`Data::Bytes`].
    Bytes(&'a [u8]),
    /// As of [`Data::Strings`].
    Strings(&'a [String]),
}

impl Data {
    /// Checks that these are the elements of a tensor of this type and shape.
    pub(crate) fn check(&self, element: ElementType, shape: &Shape) -> Result<(), String> {
        let (got, unit) = match self {
            Data::Bytes(bytes) => (bytes.len(), "bytes"),
            Data::Strings(texts) => (texts.len(), "texts"),
        };
        if matches!(self, Data::Strings(_)) != (element == ElementType::String) {
            return Err(format!("its type is {element}, but it holds {unit}"));
        }
        match entries(element, shape).map_err(|error| error.to_string())? {
            expected if expected == got => Ok(()),
            expected => Err(format!(
                "its shape {shape} of {element} is {expected} {unit}, but it holds {got}"
            )),
        }
    }

    pub(crate) fn elements(&self) -> Elements<'_> {
        match self {
            Data::Bytes(bytes) => Elements::Bytes(bytes),
            Data::Strings(texts) => Elements::Strings(texts),
        }
    }
}

impl<'a> Elements<'a> {
    /// The bytes of elements that are no texts.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Elements::Bytes(bytes) => bytes,
            Elements::Strings(_) => &[],
        }
    }
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
