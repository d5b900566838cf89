//! The lengths of a reversal, as a list or a file gives them.

use std::fmt;

use trundle_core::ops::{ReverseSequence, ReverseSubsequences};
use trundle_core::{Error, Op, Shape};

/// Lengths as a file or a list gives them: integers of any type, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthsFile {
    /// `None` for a list: one axis.
    shape: Option<Shape>,
    values: Vec<i128>,
}

impl LengthsFile {
    /// The values of a tensor of this shape, row-major. One of one axis is a list.
    ///
    /// # Errors
    /// [`Error::SizesDiffer`] if there is not one value for each element of `shape`.
    pub fn new(shape: Shape, values: Vec<i128>) -> trundle_core::Result<LengthsFile> {
        if values.len() != shape.elements() {
            return Err(Error::SizesDiffer {
                left: "lengths",
                right: "their shape",
                left_size: values.len(),
                right_size: shape.elements(),
            });
        }
        Ok(LengthsFile { shape: (shape.rank() != 1).then_some(shape), values })
    }

    /// A plain list.
    pub fn list(values: Vec<i128>) -> LengthsFile {
        LengthsFile { shape: None, values }
    }

    /// The reversal along `axis` by these lengths. With a batch axis they are one for each of its
    /// indices ([`ReverseSequence`]); without, one for each position outside `axis`, as a list or
    /// in the data's shape with 1 on `axis` ([`ReverseSubsequences`]).
    ///
    /// # Errors
    /// [`LengthsError::NotAList`] with a batch axis; [`LengthsError::OutOfRange`] without. The
    /// rest is checked against the shape of the data, by [`Op::index_map`].
    pub fn reverse(self, axis: i64, batch_axis: Option<i64>) -> Result<Op, LengthsError> {
        match (batch_axis, self.shape) {
            (Some(batch_axis), None) => {
                Ok(ReverseSequence::new(axis, batch_axis, self.values).into())
            }
            (Some(_), Some(shape)) => Err(LengthsError::NotAList { shape }),
            (None, None) => Ok(ReverseSubsequences::new(axis, unsigned(&self.values)?).into()),
            (None, Some(shape)) => {
                Ok(ReverseSubsequences::dense(axis, shape, unsigned(&self.values)?).into())
            }
        }
    }
}

/// The values as the unsigned ones that [`ReverseSubsequences`] takes.
fn unsigned(values: &[i128]) -> Result<Vec<u64>, LengthsError> {
    let one = |(index, &length): (usize, &i128)| {
        u64::try_from(length).map_err(|_| LengthsError::OutOfRange { index, length })
    };
    values.iter().enumerate().map(one).collect()
}

/// Why lengths make no reversal, whatever the shape of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LengthsError {
    /// With a batch axis, lengths are a list.
    NotAList {
        /// The shape they have.
        shape: Shape,
    },
    /// A length is negative, or beyond 64 bits.
    OutOfRange {
        /// Which length, counted from 0.
        index: usize,
        /// The length.
        length: i128,
    },
}

impl std::error::Error for LengthsError {}

impl fmt::Display for LengthsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LengthsError::NotAList { shape } => {
                write!(f, "lengths along a batch axis must have one axis, got shape {shape}")
            }
            LengthsError::OutOfRange { index, length } => write!(
                f,
                "length {length} at index {index} is out of range: expected 0..={}",
                u64::MAX
            ),
        }
    }
}
