//! The element types of .safetensors.

use trundle_core::{BitOrder, DType, Shape, Width};

use crate::StoredDType;
use crate::stored_dtype::ByteOrder;

/// All types of the format by name. The list is that of `Dtype` in version 0.8 of the format's own library.
const DTYPES: [(&str, Row); 22] = [
    ("BOOL", Row::Same(DType::Boolean)),
    ("F4", Row::Same(DType::F4E2M1)),
    // 6-bit codes in a contiguous sequence, which begins at the least significant bit of each byte.
    ("F6_E2M3", Row::Bits(DType::U6, "f6e2m3")),
    ("F6_E3M2", Row::Bits(DType::U6, "f6e3m2")),
    ("U8", Row::Same(DType::U8)),
    ("I8", Row::Same(DType::I8)),
    ("F8_E5M2", Row::Same(DType::F8E5M2)),
    ("F8_E4M3", Row::Same(DType::F8E4M3)),
    ("F8_E8M0", Row::Same(DType::F8E8M0)),
    ("F8_E4M3FNUZ", Row::Bits(DType::U8, "f8e4m3fnuz")),
    ("F8_E5M2FNUZ", Row::Bits(DType::U8, "f8e5m2fnuz")),
    ("I16", Row::Same(DType::I16)),
    ("U16", Row::Same(DType::U16)),
    ("F16", Row::Same(DType::F16)),
    ("BF16", Row::Same(DType::BF16)),
    ("I32", Row::Same(DType::I32)),
    ("U32", Row::Same(DType::U32)),
    ("F32", Row::Same(DType::F32)),
    ("C64", Row::Same(DType::Complex64)),
    ("F64", Row::Same(DType::F64)),
    ("I64", Row::Same(DType::I64)),
    ("U64", Row::Same(DType::U64)),
];

/// The type that trundle has for a type of the format.
#[derive(Clone, Copy)]
enum Row {
    Same(DType),
    /// Unsigned integers with the bits of a type that trundle does not have, and trundle's name for that type.
    Bits(DType, &'static str),
}

impl Row {
    fn element(self) -> StoredDType {
        match self {
            Row::Same(dtype) => StoredDType::ordered(dtype, ByteOrder::Little),
            Row::Bits(dtype, name) => {
                let bits = StoredDType::ordered(dtype, ByteOrder::Little);
                // Types of whole bytes have no bit order.
                let low_first = bits.clone().with_bit_order(BitOrder::LowFirst);
                StoredDType::of_bits(low_first.unwrap_or(bits), name)
            }
        }
    }
}

pub(crate) fn element(name: &str) -> Option<StoredDType> {
    DTYPES.iter().find(|(known, _)| *known == name).map(|(_, row)| row.element())
}

/// Returns the name that the format has for a type, or an error message if it has none.
pub(crate) fn name(element: &StoredDType) -> Result<&'static str, String> {
    let has_name = |row: Row| match row {
        Row::Same(dtype) => element.dtype() == dtype && element.name() == dtype.to_string(),
        Row::Bits(_, name) => element.name() == name,
    };
    let found = DTYPES.iter().find(|(_, row)| has_name(*row));
    let (name, row) = found.ok_or_else(|| format!("it has no type {}", element.name()))?;
    let held = row.element();
    match (element.width(), held.width()) {
        (Width::SubByte(own), Width::SubByte(held)) if own != held => {
            Err(format!("it has {name} packed {}, not {}", held.order(), own.order()))
        }
        (Width::Bytes(bytes), _) if bytes > 1 && element.byte_order() != held.byte_order() => {
            Err(format!("its numbers are little-endian, not as {}", element.descr()))
        }
        _ => Ok(name),
    }
}

/// Returns why the format refuses a tensor whose elements do not fill whole bytes. Returns `None` if they do.
pub(crate) fn open_bits(element: &StoredDType, shape: &Shape) -> Option<String> {
    let packing = element.width().packing()?;
    let bits = shape.elements() as u128 * packing.bits() as u128;
    (!bits.is_multiple_of(8))
        .then(|| format!("has {bits} bits, which is not a whole number of bytes"))
}
