//! One element as a number.

use trundle_core::{DType, Packing};

/// What an element says, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer, or a boolean as 0 or 1.
    Integer(i128),
    /// A float. Every type up to f64 is exact in it.
    Float(f64),
}

/// The element of this number in little-endian `bytes`; `None` for a type that is no number, and
/// beyond the end of the bytes.
pub(super) fn number(dtype: DType, bytes: &[u8], at: usize) -> Option<Number> {
    if let Some(packing) = dtype.packing() {
        return packed(dtype, packing, bytes, at);
    }
    let width = dtype.width();
    let start = at.checked_mul(width)?;
    let element = bytes.get(start..start.checked_add(width)?)?;
    // Elements of up to 8 bytes, zeros above.
    let mut word = [0; 8];
    word.get_mut(..width)?.copy_from_slice(element);
    let bits = u64::from_le_bytes(word);
    let signed = || Number::Integer(sign_extended(bits, width * 8));
    let [low, next, ..] = word;
    Some(match dtype {
        DType::Boolean => Number::Integer(i128::from(bits != 0)),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Number::Integer(i128::from(bits)),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => signed(),
        DType::F8E4M3 => Number::Float(f8e4m3(low)),
        // The upper half of an f16.
        DType::F8E5M2 => Number::Float(half::f16::from_le_bytes([0, low]).to_f64()),
        DType::F8E8M0 => Number::Float(match low {
            255 => f64::NAN,
            exponent => 2f64.powi(i32::from(exponent) - 127),
        }),
        DType::F16 => Number::Float(half::f16::from_le_bytes([low, next]).to_f64()),
        DType::BF16 => Number::Float(half::bf16::from_le_bytes([low, next]).to_f64()),
        DType::F32 => Number::Float(f64::from(f32::from_le_bytes(element.try_into().ok()?))),
        DType::F64 => Number::Float(f64::from_bits(bits)),
        _ => return None,
    })
}

/// An element of less than a byte.
fn packed(dtype: DType, packing: Packing, bytes: &[u8], at: usize) -> Option<Number> {
    if packing.bytes(at.checked_add(1)?) > bytes.len() {
        return None;
    }
    let bits = packing.get(bytes, at);
    Some(match dtype {
        DType::U1 | DType::U2 | DType::U3 | DType::U4 | DType::U6 => {
            Number::Integer(i128::from(bits))
        }
        DType::I2 | DType::I4 => Number::Integer(sign_extended(u64::from(bits), packing.bits())),
        DType::F4E2M1 => {
            const MAGNITUDES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
            let magnitude = MAGNITUDES[usize::from(bits & 7)];
            Number::Float(if bits & 8 == 0 { magnitude } else { -magnitude })
        }
        _ => return None,
    })
}

/// The lowest `width` bits as a signed integer.
fn sign_extended(bits: u64, width: usize) -> i128 {
    let unused = 64 - width;
    i128::from((bits << unused).cast_signed() >> unused)
}

/// A sign, 4 exponent bits with a bias of 7, and 3 mantissa bits; no infinities, and one NaN of
/// either sign.
fn f8e4m3(bits: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
    let magnitude = match (exponent, bits & 7) {
        (15, 7) => f64::NAN,
        (0, _) => mantissa / 8.0 * 2f64.powi(-6),
        _ => (1.0 + mantissa / 8.0) * 2f64.powi(exponent - 7),
    };
    if bits & 128 == 0 { magnitude } else { -magnitude }
}
