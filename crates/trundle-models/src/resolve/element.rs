//! Single elements as numbers, and constants in wider element types.

use half::{bf16, f16};
use trundle_core::program::TensorId;
use trundle_core::{DType, Packing, Width};
use trundle_formats::StoredDType;

use super::site::Site;
use crate::problem::{Checked, wrong};
use crate::{Constant, Data, ElementType};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer, or a boolean as 0 or 1.
    Integer(i128),
    /// A float. An f64 represents every value of the supported types exactly.
    Float(f64),
}

/// `None` beyond the end of `bytes`, or if [`StoredDType::value`] returns none.
pub(crate) fn number(element: &StoredDType, bytes: &[u8], at: usize) -> Option<Number> {
    let code;
    let own = match element.width() {
        Width::SubByte(packing) => {
            bytes.get(..packing.bytes(at.checked_add(1)?))?;
            code = [packing.get(bytes, at)];
            &code[..]
        }
        Width::Bytes(width) => {
            let start = at.checked_mul(width)?;
            bytes.get(start..start.checked_add(width)?)?
        }
    };
    if element.dtype() == DType::Boolean {
        return Some(Number::Integer((*own != [0]).into()));
    }
    let integer = element.integer(own).map(Number::Integer);
    integer.or_else(|| element.value(own).map(Number::Float))
}

pub(super) fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I2 | DType::I4 | DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

pub(super) fn is_integer(dtype: DType) -> bool {
    use DType::{U1, U2, U3, U4, U6, U8, U16, U32, U64};
    is_signed(dtype) || matches!(dtype, U1 | U2 | U3 | U4 | U6 | U8 | U16 | U32 | U64)
}

pub(super) fn is_float(dtype: DType) -> bool {
    use DType::{BF16, F4E2M1, F8E4M3, F8E5M2, F8E8M0, F16, F32, F64};
    matches!(dtype, F4E2M1 | F8E4M3 | F8E5M2 | F8E8M0 | BF16 | F16 | F32 | F64)
}

/// Whether an integer type holds a value. If it holds both ends of a range, it holds the range.
pub(super) fn holds(dtype: DType, integer: i128) -> bool {
    let bits = 8 * dtype.width() - usize::from(is_signed(dtype));
    let least = if is_signed(dtype) { -(1 << bits) } else { 0 };
    (least..1 << bits).contains(&integer)
}

/// Input 0, a constant, in a type that holds all its values. Repeated conversions share one tensor.
pub(super) fn widen(site: &mut Site, to: DType) -> Checked<TensorId> {
    let id = site.data()?;
    let element = site.builder.element(id);
    if element == ElementType::Fixed(to) {
        return Ok(id);
    }
    let Some(constant) = site.builder.file_constant(id) else {
        return wrong!(
            "to convert {element} to {to} is computing, which is done for constants only"
        );
    };
    if let Some(widened) = site.builder.widened.get(&(id, to)) {
        return Ok(*widened);
    }
    let widened = widened(constant, to)?;
    let widened = site.builder.constant(&widened)?;
    site.builder.widened.insert((id, to), widened);
    Ok(widened)
}

fn widened(constant: &Constant, to: DType) -> Checked<Constant> {
    let inexact = || format!("{to} does not hold every value of {} exactly", constant.element);
    let (ElementType::Fixed(from), Data::Bytes(bytes)) = (constant.element, &constant.data) else {
        return Err(inexact().into());
    };
    if !holds_every_value(from, to) {
        return Err(inexact().into());
    }
    let elements = constant.shape.elements();
    let mut data = Vec::with_capacity(constant.shape.bytes(to)?);
    let from = StoredDType::little_endian(from);
    for at in 0..elements {
        let element = number(&from, bytes, at).ok_or_else(inexact)?;
        push(element, to, &mut data).ok_or_else(inexact)?;
    }
    Ok(Constant::of(to, constant.shape.clone(), data))
}

/// Whether `to`, of whole bytes, holds every value of `from`.
fn holds_every_value(from: DType, to: DType) -> bool {
    let Some(digits) = digits(from) else { return holds_every_float(from, to) };
    match to {
        DType::F16 => digits <= 11,
        DType::BF16 => digits <= 8,
        DType::F32 => digits <= 24,
        DType::F64 => digits <= 53,
        _ if to.packing().is_none() && is_integer(to) => {
            let room = to.width() * 8 - usize::from(is_signed(to));
            digits <= room && (is_signed(to) || !is_signed(from))
        }
        _ => false,
    }
}

/// The binary digits of the largest integer; `None` for other types. The smallest integer of a signed type is a power
/// of two and needs no more digits.
fn digits(dtype: DType) -> Option<usize> {
    if dtype == DType::Boolean {
        return Some(1);
    }
    let bits = dtype.packing().map_or(dtype.width() * 8, Packing::bits);
    is_integer(dtype).then(|| bits - usize::from(is_signed(dtype)))
}

/// Whether float type `to` holds every value of `from`, with all NaNs as one value.
fn holds_every_float(from: DType, to: DType) -> bool {
    let wide = |to: DType| matches!(to, DType::F32 | DType::F64);
    match from {
        DType::F4E2M1 | DType::F8E4M3 | DType::F8E5M2 => {
            wide(to) || matches!(to, DType::F16 | DType::BF16)
        }
        // Its smallest value is below the range of f16.
        DType::F8E8M0 => wide(to) || to == DType::BF16,
        DType::F16 | DType::BF16 => wide(to),
        DType::F32 => to == DType::F64,
        _ => false,
    }
}

/// Appends a value as little-endian bytes, with floats rounded. `None` if the type cannot hold it.
pub(super) fn push(element: Number, to: DType, bytes: &mut Vec<u8>) -> Option<()> {
    match (element, to) {
        (Number::Integer(value), DType::F16 | DType::BF16 | DType::F32 | DType::F64) => {
            #[expect(clippy::cast_precision_loss, reason = "it has at most 53 digits")]
            return push(Number::Float(value as f64), to, bytes);
        }
        (Number::Integer(value), _) => {
            // In two's complement, the removed bytes only repeat the sign.
            bytes.extend_from_slice(value.to_le_bytes().get(..to.width())?);
        }
        (Number::Float(value), DType::F16) => {
            bytes.extend_from_slice(&f16::from_f32(odd(value)).to_le_bytes());
        }
        (Number::Float(value), DType::BF16) => {
            bytes.extend_from_slice(&bf16::from_f32(odd(value)).to_le_bytes());
        }
        (Number::Float(value), DType::F32) => {
            #[expect(clippy::cast_possible_truncation, reason = "f32 holds it")]
            bytes.extend_from_slice(&(value as f32).to_le_bytes());
        }
        (Number::Float(value), DType::F64) => bytes.extend_from_slice(&value.to_le_bytes()),
        (Number::Float(_), _) => return None,
    }
    Some(())
}

/// Rounds to odd, so that rounding the result to 16 bits equals rounding `value` directly. `half`'s conversions from
/// f64 ignore the lower half of its bits.
fn odd(value: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "what is lost is put right")]
    let nearest = value as f32;
    let other = f64::from(nearest);
    if value.is_nan() || other == value || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    let towards = if other.abs() < value.abs() { 1 } else { u32::MAX };
    f32::from_bits(nearest.to_bits().wrapping_add(towards))
}
