//! Element types by their numbers in GGUF (`enum ggml_type` in ggml's `ggml.h`).

use trundle_core::DType;

use crate::{Problem, StoredDType};

/// The names of the types in ggml, each at the index of its number; empty for unused numbers. If no [`DType`] has the
/// lower-case name, the type is quantised.
const NAMES: [&str; 42] = [
    "F32", "F16", "Q4_0", "Q4_1", "", "", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K",
    "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S",
    "IQ4_XS", "I8", "I16", "I32", "I64", "F64", "IQ1_M", "BF16", "", "", "", "TQ1_0", "TQ2_0", "",
    "", "", "MXFP4", "NVFP4", "Q1_0",
];

/// Returns the type with this number.
///
/// # Errors
/// [`Problem::Unsupported`] if the type is unknown, or quantised, so that elements are not separate bytes.
pub(super) fn element(number: u32) -> Result<StoredDType, Problem> {
    let name = NAMES.get(number as usize).filter(|name| !name.is_empty());
    let name =
        name.ok_or_else(|| Problem::unsupported(format!("is of the unknown type {number}")))?;
    DType::from_name(&name.to_ascii_lowercase()).map(StoredDType::little_endian).map_err(|_| {
        Problem::unsupported(format!(
            "is of type {name}, which is quantised: its elements share bytes in blocks"
        ))
    })
}
