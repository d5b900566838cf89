//! ONNX Runtime's element types.

use trundle::DType;
use trundle_models::ElementType;

use crate::failure::{Failure, Result};

/// `ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING`.
const STRING: i32 = 8;

/// `ONNXTensorElementDataType` without strings. The two FNUZ types are moved as opaque bytes.
const FIXED: [(i32, DType); 25] = [
    (1, DType::F32),
    (2, DType::U8),
    (3, DType::I8),
    (4, DType::U16),
    (5, DType::I16),
    (6, DType::I32),
    (7, DType::I64),
    (9, DType::Boolean),
    (10, DType::F16),
    (11, DType::F64),
    (12, DType::U32),
    (13, DType::U64),
    (14, DType::Complex64),
    (15, DType::Complex128),
    (16, DType::BF16),
    (17, DType::F8E4M3),
    (18, DType::Bytes(1)),
    (19, DType::F8E5M2),
    (20, DType::Bytes(1)),
    (21, DType::U4),
    (22, DType::I4),
    (23, DType::F4E2M1),
    (24, DType::U2),
    (25, DType::I2),
    (26, DType::F8E8M0),
];

/// Returns the element type of an ONNX Runtime type number.
///
/// # Errors
/// Fails for unknown numbers, such as types of later versions.
pub(crate) fn element_of(number: i32) -> Result<ElementType> {
    if number == STRING {
        return Ok(ElementType::String);
    }
    let known = FIXED.iter().find(|(known, _)| *known == number);
    let unknown = || Failure(format!("ONNX Runtime's element type {number} is not supported"));
    known.map(|(_, dtype)| ElementType::Fixed(*dtype)).ok_or_else(unknown)
}

/// Returns the type number of an element type, or `None` if it is not unique.
pub(crate) fn number_of(element: ElementType) -> Option<i32> {
    let ElementType::Fixed(dtype) = element else { return Some(STRING) };
    let mut numbers = FIXED.iter().filter(|(_, known)| *known == dtype);
    let (number, _) = numbers.next()?;
    numbers.next().is_none().then_some(*number)
}
