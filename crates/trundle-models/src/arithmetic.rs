//! Arithmetic on known values, by which exporters compute shapes, axes and indices.

use trundle_core::DType;

use crate::Integers;

/// An arithmetic operator on values that are known when a model is resolved.
///
/// Operands are broadcast as in numpy; results have the operands' type unless stated otherwise.
///
/// Integer overflow is refused, not wrapped. Floats are computed in f64 and rounded once to their type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arithmetic {
    /// A binary operator on inputs 0 and 1; further inputs are folded in from the left.
    Binary(Binary),
    /// A unary operator.
    Unary(Unary),
    /// Converts input 0 to another type. Floats are truncated towards zero. As booleans, all values but zero are true.
    Cast(DType),
    /// Converts input 0 to the type of input 1.
    CastLike,
    /// Clamps input 0 to the range from input 1 to input 2, both optional.
    Clip,
    /// Elements of input 1 where input 0 is true, otherwise of input 2.
    Select,
    /// Reduces along axes.
    Reduce {
        /// The operator that combines two numbers.
        by: Binary,
        /// The axes; negative ones count from the end.
        axes: Integers,
        /// Whether the axes stay, with size 1.
        keeps_axes: bool,
        /// Whether an empty list means no axes (the data stay unchanged) instead of all.
        empty_is_none: bool,
    },
}

/// A binary operator on numbers of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// a + b.
    Add,
    /// a - b.
    Subtract,
    /// a * b.
    Multiply,
    /// a / b; for integers rounded towards zero.
    Divide,
    /// a / b; for integers rounded down.
    FloorDivide,
    /// The remainder of a / b, with the sign of b.
    FloorModulo,
    /// The remainder of a / b, with the sign of a.
    Modulo,
    /// a to the power of b; b may have a different type from a.
    Power,
    /// The smaller number; NaN if either is NaN.
    Minimum,
    /// The larger number; NaN if either is NaN.
    Maximum,
    /// a = b. The result of this and of the next five operators is a boolean.
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
    /// Logical and.
    And,
    /// Logical or.
    Or,
    /// Logical exclusive or.
    Xor,
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// The absolute value.
    Absolute,
    /// The negated value.
    Negate,
    /// -1, 0 or 1.
    Sign,
    /// Rounds down to an integer.
    Floor,
    /// Rounds up to an integer.
    Ceil,
    /// Rounds to the nearest integer, halves to even.
    RoundToEven,
    /// Rounds to the nearest integer, halves away from zero.
    RoundAwayFromZero,
    /// The square root; floats only.
    SquareRoot,
    /// 1 / a; floats only.
    Reciprocal,
    /// Logical not.
    Not,
}

impl Binary {
    /// Comparisons return booleans.
    pub(crate) fn compares(self) -> bool {
        use Binary::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual)
    }

    pub(crate) fn is_logical(self) -> bool {
        matches!(self, Binary::And | Binary::Or | Binary::Xor)
    }
}
