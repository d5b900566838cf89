//! Maps PyTorch's storage classes to element types.

use trundle_core::DType;

pub(super) fn of_storage(class: &str) -> Option<DType> {
    Some(match class.strip_prefix("torch.")? {
        "DoubleStorage" => DType::F64,
        "FloatStorage" => DType::F32,
        "HalfStorage" => DType::F16,
        "BFloat16Storage" => DType::BF16,
        "LongStorage" => DType::I64,
        "IntStorage" => DType::I32,
        "ShortStorage" => DType::I16,
        "CharStorage" => DType::I8,
        "ByteStorage" => DType::U8,
        "BoolStorage" => DType::Boolean,
        "ComplexFloatStorage" => DType::Complex64,
        "ComplexDoubleStorage" => DType::Complex128,
        _ => return None,
    })
}
