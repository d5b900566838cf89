//! Lengths of reversals, and indices of gathers and scatters, from a list or a file.

use std::{fmt, ptr};

use trundle_core::ops::{
    Declaration, IndexMode, Indices, Operand, PutAlongAxis, ReverseSequence, ReverseSubsequences,
    ScatterNd, Take, TakeAlongAxis,
};
use trundle_core::{Op, Shape, check_sizes};

/// The lengths or indices in a file or a list: integers of any type, in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumbersFile {
    /// `None` for a list with one axis.
    shape: Option<Shape>,
    values: Vec<i128>,
}

impl NumbersFile {
    /// Creates numbers from the elements of a tensor in row-major order; one of rank 1 is a list.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if `shape` has another number of elements.
    pub fn new(shape: Shape, values: Vec<i128>) -> trundle_core::Result<NumbersFile> {
        check_sizes(("numbers", values.len()), ("the elements of their shape", shape.elements()))?;
        Ok(NumbersFile { shape: (shape.rank() != 1).then_some(shape), values })
    }

    /// Creates a list.
    pub fn list(values: Vec<i128>) -> NumbersFile {
        NumbersFile { shape: None, values }
    }
}

/// An operator whose lengths or indices are not given yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unfilled {
    /// A reversal without its lengths.
    ///
    /// With a batch axis, there is one length for each index on this axis ([`ReverseSequence`]). Without it, there is
    /// one for each row along `axis` ([`ReverseSubsequences`]): a list, or a tensor with the shape of the data, but
    /// size 1 on `axis`.
    Reverse {
        /// The axis to reverse.
        axis: i64,
        /// The axis that has one length for each index.
        batch_axis: Option<i64>,
    },
    /// A [`Take`] without its indices.
    Take {
        /// The axis that the indices refer to.
        axis: i64,
        /// The treatment of indices that are outside the axis.
        mode: IndexMode,
    },
    /// A [`TakeAlongAxis`] without its indices.
    TakeAlongAxis {
        /// The axis that the indices refer to.
        axis: i64,
    },
    /// A [`PutAlongAxis`] without its indices.
    PutAlongAxis {
        /// The tensor, and the values that are written over it.
        inputs: [Operand; 2],
        /// The axis that the indices refer to.
        axis: i64,
    },
    /// A [`ScatterNd`] without its indices.
    ScatterNd {
        /// The tensor, and the updates that are written over it.
        inputs: [Operand; 2],
    },
}

impl Unfilled {
    /// Creates the operator of a call with one tensor. `integers` are the values of its parameters.
    pub fn of(declared: &'static Declaration, integers: &[Vec<i64>]) -> Unfilled {
        let integer = |name: &str| integer(declared, integers, name);
        let axis = integer("axis").unwrap_or_default();
        if ptr::eq(declared, Take::DECLARATION) {
            let mode = integer("mode").and_then(IndexMode::of_number).unwrap_or_default();
            Unfilled::Take { axis, mode }
        } else if ptr::eq(declared, TakeAlongAxis::DECLARATION) {
            Unfilled::TakeAlongAxis { axis }
        } else {
            Unfilled::Reverse { axis, batch_axis: integer("batch_axis") }
        }
    }

    /// Creates the operator of a call with two tensors. `integers` are the values of its parameters.
    pub fn of_two(
        declared: &'static Declaration,
        inputs: [Operand; 2],
        integers: &[Vec<i64>],
    ) -> Unfilled {
        match ptr::eq(declared, ScatterNd::DECLARATION) {
            true => Unfilled::ScatterNd { inputs },
            false => {
                let axis = integer(declared, integers, "axis").unwrap_or_default();
                Unfilled::PutAlongAxis { inputs, axis }
            }
        }
    }

    /// The operands of the operator.
    pub fn operands(&self) -> &[Operand] {
        match self {
            Unfilled::PutAlongAxis { inputs, .. } | Unfilled::ScatterNd { inputs } => inputs,
            _ => &[Operand::Previous],
        }
    }

    /// The missing argument: `lengths` or `indices`.
    pub fn argument(&self) -> &'static str {
        match self {
            Unfilled::Reverse { .. } => "lengths",
            Unfilled::Take { .. }
            | Unfilled::TakeAlongAxis { .. }
            | Unfilled::PutAlongAxis { .. }
            | Unfilled::ScatterNd { .. } => "indices",
        }
    }

    /// Creates the operator with these lengths or indices.
    ///
    /// # Errors
    /// [`NumbersError::NotAList`] if the lengths along a batch axis are not a list, and [`NumbersError::OutOfRange`]
    /// for a number that no tensor would allow. [`Op::index_map`] checks the numbers for a shape.
    pub fn fill(&self, numbers: NumbersFile) -> Result<Op, NumbersError> {
        let NumbersFile { shape, values } = numbers;
        Ok(match self {
            Unfilled::Reverse { axis, batch_axis: Some(batch_axis) } => match shape {
                None => ReverseSequence::new(*axis, *batch_axis, values).into(),
                Some(shape) => return Err(NumbersError::NotAList { shape }),
            },
            Unfilled::Reverse { axis, batch_axis: None } => match shape {
                None => ReverseSubsequences::new(*axis, self.narrow::<u64>(&values)?).into(),
                Some(shape) => {
                    ReverseSubsequences::dense(*axis, shape, self.narrow::<u64>(&values)?).into()
                }
            },
            Unfilled::Take { axis, mode } => {
                Take::new(*axis, self.indices(shape, &values)?).with_mode(*mode).into()
            }
            Unfilled::TakeAlongAxis { axis } => {
                TakeAlongAxis::new(*axis, self.indices(shape, &values)?).into()
            }
            Unfilled::PutAlongAxis { inputs, axis } => {
                PutAlongAxis::new(inputs.clone(), *axis, self.indices(shape, &values)?).into()
            }
            Unfilled::ScatterNd { inputs } => {
                ScatterNd::new(inputs.clone(), self.indices(shape, &values)?).into()
            }
        })
    }

    fn indices(&self, shape: Option<Shape>, values: &[i128]) -> Result<Indices, NumbersError> {
        let values = self.narrow::<i64>(values)?;
        Ok(match shape {
            None => Indices::list(values),
            Some(shape) => Indices::new(shape, values)
                .unwrap_or_else(|error| unreachable!("there is one for each element: {error}")),
        })
    }

    fn narrow<T: TryFrom<i128>>(&self, values: &[i128]) -> Result<Vec<T>, NumbersError> {
        let one = |(index, &number): (usize, &i128)| {
            let is_length = matches!(self, Unfilled::Reverse { .. });
            let refusal = |_| NumbersError::OutOfRange { is_length, index, number };
            T::try_from(number).map_err(refusal)
        };
        values.iter().enumerate().map(one).collect()
    }
}

fn integer(declared: &Declaration, integers: &[Vec<i64>], name: &str) -> Option<i64> {
    let named = declared.parameters.iter().position(|each| each.name == name);
    named.and_then(|at| integers[at].first().copied())
}

/// The reason why lengths or indices are wrong for tensors of any shape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumbersError {
    /// Lengths along a batch axis are not a list.
    NotAList {
        /// The shape of the lengths.
        shape: Shape,
    },
    /// A length is negative, or a number does not fit 64 bits.
    OutOfRange {
        /// Whether the number is a length; otherwise it is an index.
        is_length: bool,
        /// The position of the number, from 0.
        index: usize,
        /// The number.
        number: i128,
    },
}

impl std::error::Error for NumbersError {}

impl fmt::Display for NumbersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumbersError::NotAList { shape } => {
                write!(f, "lengths along a batch axis must have one axis, got shape {shape}")
            }
            NumbersError::OutOfRange { is_length: true, index, number } => write!(
                f,
                "length {number} at index {index} is out of range: expected 0..={}",
                u64::MAX
            ),
            NumbersError::OutOfRange { is_length: false, index, number } => write!(
                f,
                "index {number} at position {index} is out of range for a signed 64-bit integer"
            ),
        }
    }
}
