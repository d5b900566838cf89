//! Names of element types.

use trundle_core::DType;

use crate::ElementType;

/// OpenVINO's names of element types. Attributes have them in lower case, ports in upper case.
const NAMES: [&str; 25] = [
    "bf16", "boolean", "f16", "f32", "f4e2m1", "f64", "f8e4m3", "f8e5m2", "f8e8m0", "i16", "i32",
    "i4", "i64", "i8", "nf4", "string", "u1", "u16", "u2", "u3", "u32", "u4", "u6", "u64", "u8",
];

/// Parses a type as in `element_type="f32"`, or in `precision="FP32"` of a port. The error lists the known names.
pub(super) fn parse(text: &str) -> Result<ElementType, String> {
    let name = text.to_ascii_lowercase();
    let name = match name.as_str() {
        "string" => return Ok(ElementType::String),
        // Names that occur only in ports.
        "fp16" => "f16",
        "fp32" => "f32",
        "fp64" => "f64",
        "bool" => "boolean",
        "bin" => "u1",
        name => name,
    };
    NAMES
        .contains(&name)
        .then(|| DType::from_name(name).ok())
        .flatten()
        .map(ElementType::Fixed)
        .ok_or_else(|| format!("element type {text:?} is unknown; known are {}", NAMES.join(", ")))
}
