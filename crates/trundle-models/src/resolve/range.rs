//! Ranges of numbers, computed when the model is resolved.

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::element::Number;
use super::numbers::{MOST_ENTRIES, is_float, is_integer, is_signed};
use super::site::Site;
use super::widen::push;
use crate::problem::{Checked, wrong};
use crate::{Constant, Data, ElementType};

/// Adds the numbers `start + i * delta` up to `limit`, exclusive, `ceil((limit - start) / delta)` in all, as
/// a constant. Floats are computed in f64 and rounded once; 16-bit floats in f32 if `single`.
///
/// Source: ONNX's Range, opset 27, and OpenVINO's Range-1 and -4.
pub(super) fn range(site: &mut Site, element: Option<DType>, single: bool) -> Checked<TensorId> {
    const NAMES: [&str; 3] = ["start", "limit", "delta"];
    let own = site.builder.element(site.data()?);
    let (ElementType::Fixed(dtype), is_own) = (match element {
        Some(dtype) => (ElementType::Fixed(dtype), false),
        None => (own, true),
    }) else {
        return wrong!("a range may not be of type {own}");
    };
    if dtype.packing().is_some() || !(is_integer(dtype) || is_float(dtype)) {
        return wrong!("a range may not be of type {dtype}");
    }
    let mut ends = [Number::Integer(0); 3];
    for (input, (name, end)) in NAMES.iter().zip(&mut ends).enumerate() {
        let other = site.builder.element(site.input(input)?);
        if is_own && other != own {
            return wrong!("start is of type {own}, but {name} of {other}");
        }
        *end = site.number(name, input)?;
        let is_whole = matches!(end, Number::Integer(_));
        let same_kind = if is_whole { is_integer(dtype) } else { is_float(dtype) };
        if !is_own && !same_kind {
            return wrong!("to convert {name} of {other} to {dtype} is computing");
        }
        if let Number::Integer(end) = *end
            && !holds(dtype, end)
        {
            return wrong!("{name} is {end}, which {dtype} does not hold");
        }
    }
    let numbers = match ends {
        [Number::Integer(start), Number::Integer(limit), Number::Integer(delta)] => {
            integers(start, limit, delta)?
        }
        [Number::Float(start), Number::Float(limit), Number::Float(delta)] => {
            floats([start, limit, delta], single && matches!(dtype, DType::F16 | DType::BF16))?
        }
        _ => return wrong!("start, limit and delta are not of one type"),
    };
    // This limits the entries of all ranges together by the limit for lists.
    site.spend("entries of a range", numbers.len())?;
    let mut bytes = Vec::with_capacity(numbers.len() * dtype.width());
    for number in &numbers {
        if push(*number, dtype, &mut bytes).is_none() {
            return wrong!("a range may not be of type {dtype}");
        }
    }
    let shape = Shape::new([numbers.len()])?;
    let element = ElementType::Fixed(dtype);
    site.builder.constant(&Constant { element, shape, data: Data::Bytes(bytes.into()) })
}

/// Whether an integer type holds a value; if it holds both ends of a range, it holds all of it.
pub(super) fn holds(dtype: DType, integer: i128) -> bool {
    let bits = 8 * dtype.width() - usize::from(is_signed(dtype));
    let least = if is_signed(dtype) { -(1 << bits) } else { 0 };
    (least..1 << bits).contains(&integer)
}

/// Converts the number of entries; refuses one that is too large.
fn checked(count: f64) -> Checked<usize> {
    if count.is_nan() {
        return wrong!("start, limit and delta are not numbers");
    }
    if count > MOST_ENTRIES as f64 {
        return wrong!("the range has {count} entries, over the limit of {MOST_ENTRIES}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within")]
    Ok(count.ceil().max(0.0) as usize)
}

fn integers(start: i128, limit: i128, delta: i128) -> Checked<Vec<Number>> {
    if delta == 0 {
        return wrong!("delta is 0");
    }
    // All operands have at most 64 bits, so i128 does not overflow.
    let (span, step) = (limit - start, delta.abs());
    let span = if delta < 0 { -span } else { span };
    let count = (span + step - 1).div_euclid(step).max(0);
    #[expect(clippy::cast_precision_loss, reason = "only a number over the limit is rounded")]
    let count = checked(count as f64)?;
    Ok((0..count as i128).map(|at| Number::Integer(start + at * delta)).collect())
}

fn floats([start, limit, delta]: [f64; 3], single: bool) -> Checked<Vec<Number>> {
    if delta == 0.0 {
        return wrong!("delta is 0");
    }
    let count = checked((limit - start) / delta)?;
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^24")]
    let number = |at: usize| {
        if single {
            #[expect(clippy::cast_possible_truncation, reason = "they are of 16 bits")]
            let (start, delta) = (start as f32, delta as f32);
            Number::Float((start + at as f32 * delta).into())
        } else {
            Number::Float(start + at as f64 * delta)
        }
    };
    Ok((0..count).map(number).collect())
}
