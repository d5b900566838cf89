//! Expressions of kernels: 32-bit words, and tests of words.

use std::ops::{Add, BitAnd, Div, Mul, Rem, Sub};

/// A variable of one thread, which holds a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// The number that makes the name unique.
    pub(crate) number: usize,
}

/// An expression whose value is a 32-bit word. Sums, differences and products wrap around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Constant(u32),
    Variable(Variable),
    /// The index of the block in the grid.
    Block,
    /// The index of the thread in its block.
    Thread,
    Binary(Binary, Box<[Word; 2]>),
    /// The 32 bits from bit `bits % 32` on, of a low and a high word.
    Funnel(Box<[Word; 2]>, Box<Word>),
    /// Four bytes of two words. Each digit of the hexadecimal selector is the number of a byte, of 8.
    Permute(Box<[Word; 2]>, u32),
    Select(Box<Test>, Box<[Word; 2]>),
}

/// An operation on two words. Division, remainder and right shift are unsigned, minimum and maximum are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Left,
    Right,
    Min,
    Max,
}

/// An expression that is true or false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Constant(bool),
    /// Whether one word is less than another, as signed numbers.
    Less(Box<[Word; 2]>),
    /// Whether one word is less than another, as unsigned numbers.
    Below(Box<[Word; 2]>),
    /// Whether both tests are true.
    Both(Box<[Test; 2]>),
    Not(Box<Test>),
}

impl Word {
    /// The two's complement of a number. [`Nest`](super::nest::Nest) ensures that all positions fit.
    pub(crate) fn of(number: isize) -> Word {
        Word::Constant(number as u32)
    }

    pub(crate) fn constant(&self) -> Option<u32> {
        match self {
            Word::Constant(constant) => Some(*constant),
            _ => None,
        }
    }

    pub(crate) fn is(&self, number: u32) -> bool {
        self.constant() == Some(number)
    }

    pub(crate) fn binary(operation: Binary, a: Word, b: Word) -> Word {
        use Binary::{Add, And, Div, Left, Mul, Or, Rem, Right, Sub};
        if let (Some(a), Some(b)) = (a.constant(), b.constant()) {
            return Word::Constant(operation.of(a, b));
        }
        match operation {
            Add | Or if a.is(0) => b,
            Add | Sub | Or | Left | Right if b.is(0) => a,
            Mul if a.is(1) => b,
            Mul | Div if b.is(1) => a,
            Mul | And if a.is(0) || b.is(0) => Word::Constant(0),
            Rem if b.is(1) => Word::Constant(0),
            Add if a.constant().is_some() => b + a,
            Add | Sub => match (&a, b.constant()) {
                // A constant is the last term of a sum, so that constants meet.
                (Word::Binary(Add, of), Some(c)) if of[1].constant().is_some() => {
                    let c = if operation == Sub { c.wrapping_neg() } else { c };
                    of[0].clone() + (of[1].clone() + c)
                }
                (_, Some(c)) if operation == Sub => a + c.wrapping_neg(),
                _ => Word::Binary(operation, Box::new([a, b])),
            },
            _ => Word::Binary(operation, Box::new([a, b])),
        }
    }

    pub(crate) fn min(self, other: Word) -> Word {
        Word::binary(Binary::Min, self, other)
    }

    pub(crate) fn max(self, other: Word) -> Word {
        Word::binary(Binary::Max, self, other)
    }

    pub(crate) fn or(self, other: Word) -> Word {
        Word::binary(Binary::Or, self, other)
    }

    pub(crate) fn left(self, bits: Word) -> Word {
        Word::binary(Binary::Left, self, bits)
    }

    pub(crate) fn right(self, bits: u32) -> Word {
        Word::binary(Binary::Right, self, Word::Constant(bits))
    }

    /// The largest multiple of a power of two that is not larger.
    pub(crate) fn down_to(self, power: u32) -> Word {
        self & Word::Constant(power.wrapping_neg())
    }

    pub(crate) fn funnel(low: Word, high: Word, bits: Word) -> Word {
        match bits.constant() {
            Some(bits) if bits % 32 == 0 => low,
            _ => Word::Funnel(Box::new([low, high]), Box::new(bits)),
        }
    }

    pub(crate) fn permute(a: Word, b: Word, selector: u32) -> Word {
        match selector {
            0x3210 => a,
            _ => Word::Permute(Box::new([a, b]), selector),
        }
    }

    pub(crate) fn select(test: Test, yes: Word, no: Word) -> Word {
        match test {
            Test::Constant(true) => yes,
            Test::Constant(false) => no,
            _ if yes == no => yes,
            test => Word::Select(Box::new(test), Box::new([yes, no])),
        }
    }

    pub(crate) fn less(self, other: Word) -> Test {
        match (self.constant(), other.constant()) {
            (Some(a), Some(b)) => Test::Constant(a.cast_signed() < b.cast_signed()),
            _ => Test::Less(Box::new([self, other])),
        }
    }

    pub(crate) fn below(self, other: Word) -> Test {
        match (self.constant(), other.constant()) {
            (Some(a), Some(b)) => Test::Constant(a < b),
            _ => Test::Below(Box::new([self, other])),
        }
    }
}

impl Binary {
    /// The result for two constants.
    pub(crate) fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::Div => a / b,
            Binary::Rem => a % b,
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Left => a << b,
            Binary::Right => a >> b,
            Binary::Min => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
            Binary::Max => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        }
    }
}

impl Test {
    pub(crate) fn and(self, other: Test) -> Test {
        match (self, other) {
            (Test::Constant(true), other) | (other, Test::Constant(true)) => other,
            (Test::Constant(false), _) | (_, Test::Constant(false)) => Test::Constant(false),
            (a, b) => Test::Both(Box::new([a, b])),
        }
    }

    pub(crate) fn is_always(&self) -> bool {
        *self == Test::Constant(true)
    }

    pub(crate) fn negated(self) -> Test {
        match self {
            Test::Constant(known) => Test::Constant(!known),
            Test::Not(of) => *of,
            other => Test::Not(Box::new(other)),
        }
    }
}

impl From<u32> for Word {
    fn from(constant: u32) -> Word {
        Word::Constant(constant)
    }
}

impl From<Variable> for Word {
    fn from(variable: Variable) -> Word {
        Word::Variable(variable)
    }
}

impl<T: Into<Word>> Add<T> for Word {
    type Output = Word;

    fn add(self, other: T) -> Word {
        Word::binary(Binary::Add, self, other.into())
    }
}

impl<T: Into<Word>> Sub<T> for Word {
    type Output = Word;

    fn sub(self, other: T) -> Word {
        Word::binary(Binary::Sub, self, other.into())
    }
}

impl<T: Into<Word>> Mul<T> for Word {
    type Output = Word;

    fn mul(self, other: T) -> Word {
        Word::binary(Binary::Mul, self, other.into())
    }
}

impl<T: Into<Word>> Div<T> for Word {
    type Output = Word;

    fn div(self, other: T) -> Word {
        Word::binary(Binary::Div, self, other.into())
    }
}

impl<T: Into<Word>> Rem<T> for Word {
    type Output = Word;

    fn rem(self, other: T) -> Word {
        Word::binary(Binary::Rem, self, other.into())
    }
}

impl<T: Into<Word>> BitAnd<T> for Word {
    type Output = Word;

    fn bitand(self, other: T) -> Word {
        Word::binary(Binary::And, self, other.into())
    }
}
