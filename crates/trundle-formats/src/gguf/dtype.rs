//! Element types by their numbers in GGUF (`enum ggml_type` of ggml's `ggml.h`).

use trundle_core::DType;

use crate::{Problem, StoredDType};

/// Number and name of each type in ggml, and our equivalent unless it is quantised.
const DTYPES: [(u32, &str, Option<DType>); 34] = [
    (0, "F32", Some(DType::F32)),
    (1, "F16", Some(DType::F16)),
    (2, "Q4_0", None),
    (3, "Q4_1", None),
    (6, "Q5_0", None),
    (7, "Q5_1", None),
    (8, "Q8_0", None),
    (9, "Q8_1", None),
    (10, "Q2_K", None),
    (11, "Q3_K", None),
    (12, "Q4_K", None),
    (13, "Q5_K", None),
    (14, "Q6_K", None),
    (15, "Q8_K", None),
    (16, "IQ2_XXS", None),
    (17, "IQ2_XS", None),
    (18, "IQ3_XXS", None),
    (19, "IQ1_S", None),
    (20, "IQ4_NL", None),
    (21, "IQ3_S", None),
    (22, "IQ2_S", None),
    (23, "IQ4_XS", None),
    (24, "I8", Some(DType::I8)),
    (25, "I16", Some(DType::I16)),
    (26, "I32", Some(DType::I32)),
    (27, "I64", Some(DType::I64)),
    (28, "F64", Some(DType::F64)),
    (29, "IQ1_M", None),
    (30, "BF16", Some(DType::BF16)),
    (34, "TQ1_0", None),
    (35, "TQ2_0", None),
    (39, "MXFP4", None),
    (40, "NVFP4", None),
    (41, "Q1_0", None),
];

/// Returns the type with this number.
///
/// # Errors
/// [`Problem::Unsupported`] if it is unknown, or quantised, so that elements are not separate bytes.
pub(super) fn element(number: u32) -> Result<StoredDType, Problem> {
    match DTYPES.iter().find(|(known, ..)| *known == number) {
        Some((_, _, Some(dtype))) => Ok(StoredDType::little_endian(*dtype)),
        Some((_, name, None)) => Err(Problem::Unsupported(format!(
            "is of type {name}, which is quantised: its elements share bytes in blocks"
        ))),
        None => Err(Problem::Unsupported(format!("is of the unknown type {number}"))),
    }
}
