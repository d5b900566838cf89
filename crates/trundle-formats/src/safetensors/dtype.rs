//! The element types of .safetensors.

use trundle_core::{BitOrder, DType, Shape, Width};

use crate::StoredDType;
use crate::stored_dtype::ByteOrder;

/// All types of the format by name: `Dtype` in version 0.8 of its own library.
const DTYPES: [(&str, DTypeMapping); 22] = [
    ("BOOL", DTypeMapping::Same(DType::Boolean)),
    ("F4", DTypeMapping::Same(DType::F4E2M1)),
    // 6-bit codes in a contiguous sequence, from the least significant bit.
    ("F6_E2M3", DTypeMapping::Bits(DType::U6, "f6e2m3")),
    ("F6_E3M2", DTypeMapping::Bits(DType::U6, "f6e3m2")),
    ("U8", DTypeMapping::Same(DType::U8)),
    ("I8", DTypeMapping::Same(DType::I8)),
    ("F8_E5M2", DTypeMapping::Same(DType::F8E5M2)),
    ("F8_E4M3", DTypeMapping::Same(DType::F8E4M3)),
    ("F8_E8M0", DTypeMapping::Same(DType::F8E8M0)),
    ("F8_E4M3FNUZ", DTypeMapping::Bits(DType::U8, "f8e4m3fnuz")),
    ("F8_E5M2FNUZ", DTypeMapping::Bits(DType::U8, "f8e5m2fnuz")),
    ("I16", DTypeMapping::Same(DType::I16)),
    ("U16", DTypeMapping::Same(DType::U16)),
    ("F16", DTypeMapping::Same(DType::F16)),
    ("BF16", DTypeMapping::Same(DType::BF16)),
    ("I32", DTypeMapping::Same(DType::I32)),
    ("U32", DTypeMapping::Same(DType::U32)),
    ("F32", DTypeMapping::Same(DType::F32)),
    ("C64", DTypeMapping::Same(DType::Complex64)),
    ("F64", DTypeMapping::Same(DType::F64)),
    ("I64", DTypeMapping::Same(DType::I64)),
    ("U64", DTypeMapping::Same(DType::U64)),
];

#[derive(Clone, Copy)]
enum DTypeMapping {
    Same(DType),
    /// Unsigned integers with the bits of a type that trundle does not have, and its name.
    Bits(DType, &'static str),
}

impl DTypeMapping {
    fn element(self) -> StoredDType {
        match self {
            DTypeMapping::Same(dtype) => StoredDType::ordered(dtype, ByteOrder::Little),
            DTypeMapping::Bits(dtype, name) => {
                let bits = StoredDType::ordered(dtype, ByteOrder::Little);
                // Types of whole bytes have no bit order.
                let low_first = bits.clone().with_bit_order(BitOrder::LowFirst);
                StoredDType::of_bits(low_first.unwrap_or(bits), name)
            }
        }
    }
}

pub(crate) fn element(name: &str) -> Option<StoredDType> {
    DTYPES.iter().find(|(known, _)| *known == name).map(|(_, mapping)| mapping.element())
}

pub(crate) fn name(element: &StoredDType) -> Result<&'static str, String> {
    let is_of = |mapping: DTypeMapping| match mapping {
        DTypeMapping::Same(dtype) => {
            element.dtype() == dtype && element.name() == dtype.to_string()
        }
        DTypeMapping::Bits(_, name) => element.name() == name,
    };
    let found = DTYPES.iter().find(|(_, mapping)| is_of(*mapping));
    let (name, mapping) = found.ok_or_else(|| format!("it has no type {}", element.name()))?;
    let known = mapping.element();
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
