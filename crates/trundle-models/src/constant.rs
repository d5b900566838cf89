//! Tensors that a model file holds.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use trundle_core::{DType, Shape, ShapeError};

/// The type of the elements of a model's tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Elements of a fixed size; packed types in their default bit order.
    Fixed(DType),
    /// Strings.
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

/// A tensor in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The element type.
    pub element: ElementType,
    /// The shape.
    pub shape: Shape,
    /// As many elements as the shape has, which the creating code checks.
    pub data: Data,
}

/// The elements of a tensor.
#[derive(Clone, PartialEq, Eq)]
pub enum Data {
    /// Little-endian elements; packed types as [`DType::packing`] describes, with unused bits 0.
    Bytes(Bytes),
    /// One string for each element.
    Strings(Arc<[String]>),
}

/// The number of bytes or strings of a tensor.
pub(crate) fn entries(element: ElementType, shape: &Shape) -> Result<usize, ShapeError> {
    match element {
        ElementType::Fixed(dtype) => shape.bytes(dtype),
        ElementType::String => shape.bytes(size_of::<String>()).map(|_| shape.elements()),
    }
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements<'a> {
    Bytes(&'a [u8]),
    Strings(&'a [String]),
}

impl Constant {
    pub(crate) fn of(dtype: DType, shape: Shape, bytes: impl Into<Bytes>) -> Constant {
        Constant { element: ElementType::Fixed(dtype), shape, data: Data::Bytes(bytes.into()) }
    }
}

impl Data {
    pub(crate) fn check(&self, element: ElementType, shape: &Shape) -> Result<(), String> {
        let (got, unit) = match self {
            Data::Bytes(bytes) => (bytes.len(), "bytes"),
            Data::Strings(strings) => (strings.len(), "strings"),
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

    pub(crate) fn empty(element: ElementType) -> Data {
        match element {
            ElementType::Fixed(_) => Data::Bytes(Bytes::new()),
            ElementType::String => Data::Strings(Arc::new([])),
        }
    }

    pub(crate) fn elements(&self) -> Elements<'_> {
        match self {
            Data::Bytes(bytes) => Elements::Bytes(bytes),
            Data::Strings(strings) => Elements::Strings(strings),
        }
    }
}

impl<'a> Elements<'a> {
    /// Empty for strings.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Elements::Bytes(bytes) => bytes,
            Elements::Strings(_) => &[],
        }
    }
}

impl fmt::Debug for Data {
    /// Formats the bytes as a list of numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Bytes(bytes) => f.debug_tuple("Bytes").field(&&bytes[..]).finish(),
            Data::Strings(strings) => f.debug_tuple("Strings").field(strings).finish(),
        }
    }
}
