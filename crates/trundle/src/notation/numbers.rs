//! The lengths of a reversal and the indices of a gather, as a list or a file gives them.

use std::{fmt, ptr};

use trundle_core::ops::{
    Declaration, IndexMode, Indices, Operand, PutAlongAxis, ReverseSequence, ReverseSubsequences,
    ScatterNd, Take, TakeAlongAxis,
};
use trundle_core::{Op, Shape, check_sizes};

/// Lengths or indices as a file or a list gives them: integers of any type, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumbersFile {
    /// `None` for a list: one axis.
    shape: Option<Shape>,
    values: Vec<i128>,
}

impl NumbersFile {
    /// The values of a tensor of this shape, row-major. One of one axis is a list.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if there is not one value for each element of `shape`.
    pub fn new(shape: Shape, values: Vec<i128>) -> trundle_core::Result<NumbersFile> {
        check_sizes(("numbers", values.len()), ("their shape", shape.elements()))?;
        Ok(NumbersFile { shape: (shape.rank() != 1).then_some(shape), values })
    }

    /// A plain list.
    pub fn list(values: Vec<i128>) -> NumbersFile {
        NumbersFile { shape: None, values }
    }
}

/// An operator that lacks the numbers which a list or a file has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unfilled {
    /// A reversal without its lengths. With a batch axis they are one for each of its indices
    /// ([`ReverseSequence`]); without, one for each position outside `axis`, as a list or in the data's
    /// shape with 1 on `axis` ([`ReverseSubsequences`]).
    Reverse {
        /// The axis that is reversed.
        axis: i64,
        /// The axis that has one length for each index.
        batch_axis: Option<i64>,
    },
    /// A [`Take`] without its indices.
    Take {
        /// The axis that they are of.
        axis: i64,
        /// What an index out of range is.
        mode: IndexMode,
    },
    /// A [`TakeAlongAxis`] without its indices.
    TakeAlongAxis {
        /// The axis that they are of.
        axis: i64,
    },
    /// A [`PutAlongAxis`] without its indices.
    PutAlongAxis {
        /// The tensor, and the values that are put into it.
        inputs: [Operand; 2],
        /// The axis that they are of.
        axis: i64,
    },
    /// A [`ScatterNd`] without its indices.
    ScatterNd {
        /// The tensor, and the updates that are put into it.
        inputs: [Operand; 2],
    },
}

impl Unfilled {
    /// The operator of a call of one tensor that has numbers, with these integers for its other parameters.
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

    /// The same of a call of two tensors.
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

    /// What the operator takes.
    pub fn operands(&self) -> &[Operand] {
        match self {
            Unfilled::PutAlongAxis { inputs, .. } | Unfilled::ScatterNd { inputs } => inputs,
            _ => &[Operand::Previous],
        }
    }

    /// What the numbers are called: `lengths` or `indices`.
    pub fn argument(&self) -> &'static str {
        match self {
            Unfilled::Reverse { .. } => "lengths",
            Unfilled::Take { .. }
            | Unfilled::TakeAlongAxis { .. }
            | Unfilled::PutAlongAxis { .. }
            | Unfilled::ScatterNd { .. } => "indices",
        }
    }

    /// The operator with its numbers.
    ///
    /// # Errors
    /// [`NumbersError::NotAList`] for lengths along a batch axis, [`NumbersError::OutOfRange`]. The rest is checked
    /// against the shape of the data, by [`Op::index_map`].
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

    /// The values in the type that the operator takes.
    fn narrow<T: TryFrom<i128>>(&self, values: &[i128]) -> Result<Vec<T>, NumbersError> {
        let one = |(index, &number): (usize, &i128)| {
            let is_length = matches!(self, Unfilled::Reverse { .. });
            let refusal = |_| NumbersError::OutOfRange { is_length, index, number };
            T::try_from(number).map_err(refusal)
        };
        values.iter().enumerate().map(one).collect()
    }
}

/// The integer that the parameter of this name is given.
fn integer(declared: &Declaration, integers: &[Vec<i64>], name: &str) -> Option<i64> {
    let named = declared.parameters.iter().position(|each| each.name == name);
    named.and_then(|at| integers[at].first().copied())
}

/// Why numbers make no operator, whatever the shape of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumbersError {
    /// With a batch axis, lengths are a list.
    NotAList {
        /// The shape they have.
        shape: Shape,
    },
    /// A length is negative, or a number is beyond 64 bits.
    OutOfRange {
        /// Whether it is a length, and not an index.
        is_length: bool,
        /// Which of the numbers, counted from 0.
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
