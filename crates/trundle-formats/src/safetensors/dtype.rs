//! The element types of .safetensors.

use trundle_core::{BitOrder, DType, Shape, Width};

use crate::StoredDType;
use crate::stored_dtype::ByteOrder;

/// All types of the format by name: `Dtype` in version 0.8 of its own library. A type that trundle does not have is read
/// as unsigned integers with its bits, under the name in the last column.
const DTYPES: [(&str, DType, Option<&str>); 22] = [
    ("BOOL", DType::Boolean, None),
    ("F4", DType::F4E2M1, None),
    // 6-bit codes in a contiguous sequence, from the least significant bit.
    ("F6_E2M3", DType::U6, Some("f6e2m3")),
    ("F6_E3M2", DType::U6, Some("f6e3m2")),
    ("U8", DType::U8, None),
    ("I8", DType::I8, None),
    ("F8_E5M2", DType::F8E5M2, None),
    ("F8_E4M3", DType::F8E4M3, None),
    ("F8_E8M0", DType::F8E8M0, None),
    ("F8_E4M3FNUZ", DType::U8, Some("f8e4m3fnuz")),
    ("F8_E5M2FNUZ", DType::U8, Some("f8e5m2fnuz")),
    ("I16", DType::I16, None),
    ("U16", DType::U16, None),
    ("F16", DType::F16, None),
    ("BF16", DType::BF16, None),
    ("I32", DType::I32, None),
    ("U32", DType::U32, None),
    ("F32", DType::F32, None),
    ("C64", DType::Complex64, None),
    ("F64", DType::F64, None),
    ("I64", DType::I64, None),
    ("U64", DType::U64, None),
];

/// Returns the type for an entry of the table.
fn element_of(dtype: DType, bits: Option<&str>) -> StoredDType {
    let element = StoredDType::ordered(dtype, ByteOrder::Little);
    let Some(name) = bits else { return element };
    // Types of whole bytes have no bit order.
    let low_first = element.clone().with_bit_order(BitOrder::LowFirst);
    StoredDType::of_bits(low_first.unwrap_or(element), name)
}

pub(crate) fn element(name: &str) -> Option<StoredDType> {
    let (_, dtype, bits) = DTYPES.iter().find(|(known, ..)| *known == name)?;
    Some(element_of(*dtype, *bits))
}

pub(crate) fn name(element: &StoredDType) -> Result<&'static str, String> {
    let is_of = |dtype: DType, bits: Option<&str>| match bits {
        None => element.dtype() == dtype && element.name() == dtype.to_string(),
        Some(name) => element.name() == name,
    };
    let found = DTYPES.iter().find(|(_, dtype, bits)| is_of(*dtype, *bits));
    let (name, dtype, bits) =
        found.ok_or_else(|| format!("it has no type {}", element.name_with_fields()))?;
    let known = element_of(*dtype, *bits);
    match (element.width(), known.width()) {
        (Width::SubByte(own), Width::SubByte(known)) if own != known => {
            Err(format!("it has {name} packed {}, not {}", known.order(), own.order()))
        }
        (Width::Bytes(bytes), _) if bytes > 1 && element.byte_order() != known.byte_order() => {
            Err(format!("its numbers are little-endian, not {}", element.descr()))
        }
        _ => Ok(name),
    }
}

/// Returns why the format refuses a tensor whose elements do not fill whole bytes; `None` if they do.
pub(crate) fn open_bits(element: &StoredDType, shape: &Shape) -> Option<String> {
    let packing = element.width().packing()?;
    let bits = shape.elements() as u128 * packing.bits() as u128;
    (!bits.is_multiple_of(8))
        .then(|| format!("has {bits} bits, which is not a whole number of bytes"))
}
