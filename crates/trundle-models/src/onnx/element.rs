//! ONNX's element types.

use trundle_core::DType;

use super::proto::Tensor;
use crate::{ElementType, Error, Result};

/// A row of [`TYPES`].
pub(super) struct TensorType {
    /// The number in `TensorProto.DataType`.
    number: i32,
    /// The name in `TensorProto.DataType`.
    pub(super) name: &'static str,
    /// `None` if it is not supported.
    element: Option<ElementType>,
    /// Holds the elements that are not in `raw_data`.
    pub(super) field: Field,
}

/// A typed data field of `TensorProto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Float,
    Int32,
    String,
    Int64,
    Double,
    Uint64,
}

impl Field {
    pub(super) fn name(self) -> &'static str {
        match self {
            Field::Float => "float_data",
            Field::Int32 => "int32_data",
            Field::String => "string_data",
            Field::Int64 => "int64_data",
            Field::Double => "double_data",
            Field::Uint64 => "uint64_data",
        }
    }

    /// Returns the typed fields that have entries.
    pub(super) fn filled(tensor: &Tensor) -> impl Iterator<Item = Field> {
        let is_empty = [
            (Field::Float, tensor.float_data.is_empty()),
            (Field::Int32, tensor.int32_data.is_empty()),
            (Field::String, tensor.string_data.is_empty()),
            (Field::Int64, tensor.int64_data.is_empty()),
            (Field::Double, tensor.double_data.is_empty()),
            (Field::Uint64, tensor.uint64_data.is_empty()),
        ];
        is_empty.into_iter().filter(|(_, is_empty)| !is_empty).map(|(field, _)| field)
    }
}

const fn fixed(number: i32, name: &'static str, dtype: DType, field: Field) -> TensorType {
    TensorType { number, name, element: Some(ElementType::Fixed(dtype)), field }
}

/// `TensorProto.DataType`.
///
/// The two FNUZ types are moved as opaque bytes, because no type of this library has their values. The 6-bit floats are
/// refused, because no type of this library is packed like them.
const TYPES: &[TensorType] = &[
    fixed(1, "FLOAT", DType::F32, Field::Float),
    fixed(2, "UINT8", DType::U8, Field::Int32),
    fixed(3, "INT8", DType::I8, Field::Int32),
    fixed(4, "UINT16", DType::U16, Field::Int32),
    fixed(5, "INT16", DType::I16, Field::Int32),
    fixed(6, "INT32", DType::I32, Field::Int32),
    fixed(7, "INT64", DType::I64, Field::Int64),
    TensorType {
        number: 8,
        name: "STRING",
        element: Some(ElementType::String),
        field: Field::String,
    },
    fixed(9, "BOOL", DType::Boolean, Field::Int32),
    fixed(10, "FLOAT16", DType::F16, Field::Int32),
    fixed(11, "DOUBLE", DType::F64, Field::Double),
    fixed(12, "UINT32", DType::U32, Field::Uint64),
    fixed(13, "UINT64", DType::U64, Field::Uint64),
    fixed(14, "COMPLEX64", DType::Complex64, Field::Float),
    fixed(15, "COMPLEX128", DType::Complex128, Field::Double),
    fixed(16, "BFLOAT16", DType::BF16, Field::Int32),
    fixed(17, "FLOAT8E4M3FN", DType::F8E4M3, Field::Int32),
    fixed(18, "FLOAT8E4M3FNUZ", DType::Bytes(1), Field::Int32),
    fixed(19, "FLOAT8E5M2", DType::F8E5M2, Field::Int32),
    fixed(20, "FLOAT8E5M2FNUZ", DType::Bytes(1), Field::Int32),
    fixed(21, "UINT4", DType::U4, Field::Int32),
    fixed(22, "INT4", DType::I4, Field::Int32),
    fixed(23, "FLOAT4E2M1", DType::F4E2M1, Field::Int32),
    fixed(24, "FLOAT8E8M0", DType::F8E8M0, Field::Int32),
    fixed(25, "UINT2", DType::U2, Field::Int32),
    fixed(26, "INT2", DType::I2, Field::Int32),
    TensorType { number: 27, name: "FLOAT6E2M3", element: None, field: Field::Int32 },
    TensorType { number: 28, name: "FLOAT6E3M2", element: None, field: Field::Int32 },
];

/// Looks up the row and element type of a number. `what` names the tensor in messages.
///
/// # Errors
/// If the number is unknown, or its type is not supported.
pub(super) fn element_type(number: i32, what: &str) -> Result<(&'static TensorType, ElementType)> {
    if number == 0 {
        return Err(Error::Malformed(format!("{what} has no element type")));
    }
    let row = TYPES.iter().find(|row| row.number == number).ok_or_else(|| {
        Error::Unsupported(format!("{what} has the unknown element type {number}"))
    })?;
    let element = row.element.ok_or_else(|| {
        Error::Unsupported(format!("{what} has elements of {}, which are not supported", row.name))
    })?;
    Ok((row, element))
}

/// Returns the number of an element type, the first if several ONNX types are moved as this type.
#[doc(hidden)]
pub fn number_of(element: ElementType) -> Option<i32> {
    Some(TYPES.iter().find(|row| row.element == Some(element))?.number)
}

/// Returns the element type with this number in `TensorProto.DataType`, if it is supported.
#[doc(hidden)]
pub fn element_of(number: i32) -> Option<ElementType> {
    TYPES.iter().find(|row| row.number == number)?.element
}

pub(super) fn named(name: &str) -> Option<ElementType> {
    TYPES.iter().find(|row| row.name == name)?.element
}
