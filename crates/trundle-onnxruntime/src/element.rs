//! ONNX Runtime's element types.

use trundle::DType;
use trundle_models::{ElementType, onnx};

use crate::failure::{Failure, Result};

/// Types with different numbers: the number in `ONNXTensorElementDataType`, and in ONNX's `TensorProto.DataType`.
const DIFFERENT: [(i32, i32); 3] = [(24, 25), (25, 26), (26, 24)];

/// The element type of a type number.
///
/// # Errors
/// Unknown numbers, such as types of later versions.
pub(crate) fn element_of(number: i32) -> Result<ElementType> {
    let of = DIFFERENT.iter().find(|(own, _)| *own == number).map_or(number, |(_, onnx)| *onnx);
    let unknown = || Failure(format!("ONNX Runtime's element type {number} is not supported"));
    onnx::element_of(of).ok_or_else(unknown)
}

/// `None` if several types are moved as this type.
pub(crate) fn number_of(element: ElementType) -> Option<i32> {
    // Both FNUZ types are moved as opaque bytes, so there are two numbers.
    let is_unique = element != ElementType::Fixed(DType::Bytes(1));
    let number = onnx::number_of(element).filter(|_| is_unique)?;
    let own = DIFFERENT.iter().find(|(_, onnx)| *onnx == number);
    Some(own.map_or(number, |(own, _)| *own))
}
