//! Type conversion of numbers.

use trundle_core::DType;

use super::super::element::Number;
use super::super::numbers::is_integer;
use super::super::range::holds;
use super::known::{Known, is_reckoned};
use crate::problem::{Checked, wrong};

pub(super) fn cast(known: &Known, to: DType) -> Checked<Known> {
    if !is_reckoned(to) {
        return wrong!("numbers are not made {to} here");
    }
    let cast = known.each(|number| one(number, to))?;
    Ok(Known { dtype: to, ..cast })
}

fn one(number: Number, to: DType) -> Checked<Number> {
    if to == DType::Boolean {
        let is_true = match number {
            Number::Integer(number) => number != 0,
            Number::Float(number) => number != 0.0,
        };
        return Ok(Number::Integer(is_true.into()));
    }
    match number {
        Number::Integer(number) if is_integer(to) => within(number, to),
        Number::Float(number) if is_integer(to) => {
            if number.is_nan() || number.abs() >= 2f64.powi(65) {
                return wrong!("{number} is out of range of {to}");
            }
            #[expect(clippy::cast_possible_truncation, reason = "towards zero, within i128")]
            within(number.trunc() as i128, to)
        }
        Number::Integer(number) => {
            let exact = 1 << 53;
            match to {
                // Rounds once, not twice.
                #[expect(clippy::cast_precision_loss, reason = "it is rounded once")]
                DType::F32 => Ok(Number::Float((number as f32).into())),
                #[expect(clippy::cast_precision_loss, reason = "it is rounded once")]
                _ if to == DType::F64 || (-exact..=exact).contains(&number) => {
                    Ok(Number::Float(number as f64))
                }
                _ => wrong!("{number} is not made {to} here: it is beyond 2^53"),
            }
        }
        Number::Float(_) => Ok(number),
    }
}

/// The integer, if type `to` can hold it.
fn within(number: i128, to: DType) -> Checked<Number> {
    if !holds(to, number) {
        return wrong!("{number} is out of range of {to}");
    }
    Ok(Number::Integer(number))
}
