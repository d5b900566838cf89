//! Maps PyTorch's storage classes and types to element types.

use trundle_core::DType;

use crate::safetensors::dtype;
use crate::{Problem, StoredDType};

/// PyTorch's types that have no storage class, with their names in .safetensors.
const WITHOUT_STORAGE: [(&str, &str); 8] = [
    ("float8_e4m3fn", "F8_E4M3"),
    ("float8_e5m2", "F8_E5M2"),
    ("float8_e8m0fnu", "F8_E8M0"),
    ("float8_e4m3fnuz", "F8_E4M3FNUZ"),
    ("float8_e5m2fnuz", "F8_E5M2FNUZ"),
    ("uint16", "U16"),
    ("uint32", "U32"),
    ("uint64", "U64"),
];

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

/// Returns the type with this name, such as `torch.uint16`, which has no storage class.
pub(super) fn of_name(name: &str) -> Result<StoredDType, Problem> {
    let own = name.strip_prefix("torch.");
    let found = WITHOUT_STORAGE.iter().find(|(known, _)| own == Some(known));
    found
        .and_then(|(_, name)| dtype::element(name))
        .ok_or_else(|| Problem::unsupported(format!("has elements of {name}, which are not read")))
}
