//! Arithmetic on numbers that shapes and constants alone say, as exporters leave it around what moves.

use trundle_core::DType;

use crate::Integers;

/// What is reckoned where a model is resolved. Operands are broadcast to one shape as numpy does it; results are of
/// the operands' type unless it says otherwise.
///
/// Integers that their type does not hold are refused, not wrapped around. Floats are reckoned in f64 and rounded once to their type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arithmetic {
    /// Of two numbers: inputs 0 and 1, and of more inputs each with what came of those before.
    Binary(Binary),
    /// Of one number.
    Unary(Unary),
    /// Input 0 in another type: floats cut off towards zero, and everything but zero true.
    Cast(DType),
    /// Input 0 in the type of input 1.
    CastLike,
    /// Input 0, but no less than input 1 and no more than input 2, which may both be left out.
    Clip,
    /// Input 1 where input 0 is true, input 2 where it is false.
    Select,
    /// All numbers along axes as one.
    Reduce {
        /// What they become.
        by: Binary,
        /// Which axes; negative ones count from the end.
        axes: Integers,
        /// Whether the axes stay, of size 1.
        keeps_axes: bool,
        /// Whether an empty list of axes is none of them, which leaves the data as it is, and not all.
        empty_is_none: bool,
    },
}

/// What comes of two numbers of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// a + b.
    Add,
    /// a - b.
    Subtract,
    /// a * b.
    Multiply,
    /// a / b; of integers without the rest, towards zero.
    Divide,
    /// a / b; of integers without the rest, downwards.
    FloorDivide,
    /// What is left of a / b, with the sign of b.
    FloorModulo,
    /// What is left of a / b, with the sign of a.
    Modulo,
    /// a to the power of b, which may be of another type.
    Power,
    /// The smaller one; NaN if one is.
    Minimum,
    /// The larger one; NaN if one is.
    Maximum,
    /// a = b, as a boolean; those that follow too.
    Equal,
    /// a ≠ b.
    NotEqual,
    /// a < b.
    Less,
    /// a ≤ b.
    LessOrEqual,
    /// a > b.
    Greater,
    /// a ≥ b.
    GreaterOrEqual,
    /// Both, of booleans.
    And,
    /// One of them or both, of booleans.
    Or,
    /// One of them, of booleans.
    Xor,
}

/// What comes of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// Without its sign.
    Absolute,
    /// With the other sign.
    Negate,
    /// -1, 0 or 1.
    Sign,
    /// The next whole number downwards.
    Floor,
    /// The next whole number upwards.
    Ceil,
    /// The nearest whole number; halves to the even one.
    RoundToEven,
    /// The nearest whole number; halves away from zero.
    RoundAwayFromZero,
    /// The square root, of floats.
    SquareRoot,
    /// 1 / a, of floats.
    Reciprocal,
    /// The other one, of booleans.
    Not,
}

impl Binary {
    /// Whether it says true or false of two numbers.
    pub(crate) fn compares(self) -> bool {
        use Binary::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual)
    }

    /// Whether it is of booleans.
    pub(crate) fn is_logical(self) -> bool {
        matches!(self, Binary::And | Binary::Or | Binary::Xor)
    }
}
