//! Unary operators on numbers.

use trundle_core::DType;

use super::super::element::Number;
use super::super::range::holds;
use crate::arithmetic::Unary;
use crate::problem::{Checked, wrong};

/// The result for a number of type `dtype`.
pub(super) fn of(what: Unary, number: Number, dtype: DType) -> Checked<Number> {
    if (what == Unary::Not) != (dtype == DType::Boolean) {
        return wrong!("numbers of type {dtype} do not go with it");
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
            // Refused above: it takes booleans.
            Unary::Not => f64::NAN,
        })),
    }
}
