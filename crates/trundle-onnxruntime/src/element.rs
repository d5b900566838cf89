//! The element types of ONNX Runtime.

use trundle::DType;
use trundle_models::ElementType;

use crate::failure::{Failure, Result};

/// Texts.
const STRING: i32 = 8;

/// `ONNXTensorElementDataType`, but texts. The two FNUZ types are moved as opaque bytes.
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

/// The element type of this number, which may be one of a later version than ours.
///
/// # Errors
/// If it is not known here.
pub(crate) fn element_of(number: i32) -> Result<ElementType> {
    if number == STRING {
        return Ok(ElementType::String);
    }
    let known = FIXED.iter().find(|(known, _)| *known == number);
    let unknown = || Failure(format!("ONNX Runtime's element type {number} is not supported"));
    known.map(|(_, dtype)| ElementType::Fixed(*dtype)).ok_or_else(unknown)
}

/// The number of this element type, if there is one and no other.
pub(crate) fn number_of(element: ElementType) -> Option<i32> {
    let ElementType::Fixed(dtype) = element else { return Some(STRING) };
    let mut numbers = FIXED.iter().filter(|(_, known)| *known == dtype);
    let (number, _) = numbers.next()?;
    numbers.next().is_none().then_some(*number)
}
