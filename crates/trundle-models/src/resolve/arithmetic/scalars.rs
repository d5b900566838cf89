//! Operators on single numbers.

use trundle_core::DType;

use super::super::element::{Number, holds, is_integer};
use crate::arithmetic::{Binary, Unary};
use crate::problem::{Checked, wrong};

pub(super) fn unary(what: Unary, number: Number, dtype: DType) -> Checked<Number> {
    if (what == Unary::Not) != (dtype == DType::Boolean) {
        return wrong!("type {dtype} is not supported");
    }
    match number {
        Number::Integer(number) => {
            let result = match what {
                Unary::Absolute => number.abs(),
                Unary::Negate => -number,
                Unary::Sign => number.signum(),
                Unary::Not => 1 - number,
                Unary::Floor | Unary::Ceil | Unary::RoundToEven | Unary::RoundAwayFromZero => {
                    number
                }
                Unary::SquareRoot | Unary::Reciprocal => {
                    return wrong!("{number} is an integer, and its result would be a float");
                }
            };
            if dtype != DType::Boolean && !holds(dtype, result) {
                return wrong!("its result {result}, of {number}, is out of range of {dtype}");
            }
            Ok(Number::Integer(result))
        }
        Number::Float(number) => Ok(Number::Float(match what {
            Unary::Absolute => number.abs(),
            Unary::Negate => -number,
            Unary::Sign if number == 0.0 || number.is_nan() => number,
            Unary::Sign => number.signum(),
            Unary::Floor => number.floor(),
            Unary::Ceil => number.ceil(),
            Unary::RoundToEven => number.round_ties_even(),
            Unary::RoundAwayFromZero => number.round(),
            Unary::SquareRoot => number.sqrt(),
            Unary::Reciprocal => 1.0 / number,
            // Refused above: `Not` takes booleans.
            Unary::Not => f64::NAN,
        })),
    }
}

/// The exponent of a power may have another type.
pub(super) fn binary(by: Binary, a: Number, b: Number, dtype: DType) -> Checked<Number> {
    let is_for_all =
        matches!(by, Binary::Equal | Binary::NotEqual | Binary::Minimum | Binary::Maximum);
    if !is_for_all && by.is_logical() != (dtype == DType::Boolean) {
        return wrong!("type {dtype} is not supported");
    }
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => {
            let number = integers(by, a, b)?;
            if !by.compares() && dtype != DType::Boolean && !holds(dtype, number) {
                return wrong!("its result {number}, of {a} and {b}, is out of range of {dtype}");
            }
            Ok(Number::Integer(number))
        }
        (Number::Float(a), Number::Float(b)) => Ok(floats(by, a, b)),
        (Number::Float(a), Number::Integer(b)) => {
            #[expect(
                clippy::cast_precision_loss,
                reason = "an exponent beyond 2^53 gives no other power"
            )]
            let b = b as f64;
            Ok(floats(by, a, b))
        }
        (Number::Integer(_), Number::Float(b)) => {
            wrong!("an integer to the power of {b}, a float, is not supported")
        }
    }
}

/// Applies an operator to integers of up to 64 bits.
fn integers(by: Binary, a: i128, b: i128) -> Checked<i128> {
    use Binary::{Divide, FloorDivide, FloorModulo, Modulo};
    if b == 0 && matches!(by, Divide | FloorDivide | FloorModulo | Modulo) {
        return wrong!("{a} is divided by 0");
    }
    Ok(match by {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Divide => a / b,
        FloorDivide => a / b - i128::from(a % b != 0 && (a < 0) != (b < 0)),
        FloorModulo => (a % b + b) % b,
        Modulo => a % b,
        Binary::Power => {
            let power = u32::try_from(b).ok().and_then(|b| a.checked_pow(b));
            match power {
                Some(power) => power,
                None => return wrong!("{a} to the power of {b} is not an integer within range"),
            }
        }
        Binary::Minimum => a.min(b),
        Binary::Maximum => a.max(b),
        Binary::Equal => (a == b).into(),
        Binary::NotEqual => (a != b).into(),
        Binary::Less => (a < b).into(),
        Binary::LessOrEqual => (a <= b).into(),
        Binary::Greater => (a > b).into(),
        Binary::GreaterOrEqual => (a >= b).into(),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
    })
}

fn floats(by: Binary, a: f64, b: f64) -> Number {
    let truth = |is: bool| Number::Integer(is.into());
    let number = match by {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        // `m_pythondiv`, OpenVINO's floor division, affects only integers.
        Binary::Divide | Binary::FloorDivide => a / b,
        Binary::Modulo => a % b,
        Binary::FloorModulo => {
            let rest = a % b;
            match rest == 0.0 {
                true => rest.copysign(b),
                false if (rest < 0.0) != (b < 0.0) => rest + b,
                false => rest,
            }
        }
        Binary::Power if b == 0.5 && a.is_finite() => a.sqrt(),
        Binary::Power => a.powf(b),
        Binary::Minimum if a.is_nan() || b.is_nan() => f64::NAN,
        Binary::Minimum => a.min(b),
        Binary::Maximum if a.is_nan() || b.is_nan() => f64::NAN,
        Binary::Maximum => a.max(b),
        Binary::Equal => return truth(a == b),
        Binary::NotEqual => return truth(a != b),
        Binary::Less => return truth(a < b),
        Binary::LessOrEqual => return truth(a <= b),
        Binary::Greater => return truth(a > b),
        Binary::GreaterOrEqual => return truth(a >= b),
        // Refused above: these take booleans.
        Binary::And | Binary::Or | Binary::Xor => f64::NAN,
    };
    Number::Float(number)
}

pub(super) fn cast(number: Number, to: DType) -> Checked<Number> {
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
                // Rounds once, directly to f32.
                #[expect(clippy::cast_precision_loss, reason = "it is rounded once")]
                DType::F32 => Ok(Number::Float((number as f32).into())),
                #[expect(clippy::cast_precision_loss, reason = "it is rounded once")]
                _ if to == DType::F64 || (-exact..=exact).contains(&number) => {
                    Ok(Number::Float(number as f64))
                }
                _ => wrong!("{number} cannot be converted to {to}: it is beyond 2^53"),
            }
        }
        Number::Float(_) => Ok(number),
    }
}

/// Type `to` must be able to hold the integer.
fn within(number: i128, to: DType) -> Checked<Number> {
    if !holds(to, number) {
        return wrong!("{number} is out of range of {to}");
    }
    Ok(Number::Integer(number))
}
