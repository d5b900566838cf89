//! Every refusal: which tensor, and both numbers.

use std::fmt;
use std::ops::RangeInclusive;

use trundle_core::DType;

use super::FeatureLevel;

/// The result of what can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a description was refused. Nothing has been written when one of these is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The operator itself refuses it, whatever the feature level.
    Operator(trundle_core::Error),
    /// A tensor has more bytes than its buffer.
    BufferTooSmall {
        /// The member that describes the tensor.
        argument: &'static str,
        /// The bytes that it needs.
        needed: u64,
        /// The bytes that its description says it has.
        total: u64,
    },
    /// The feature level has no tensor of this rank.
    Rank {
        /// The feature level.
        level: FeatureLevel,
        /// The member that describes the tensor.
        argument: &'static str,
        /// The ranks that the feature level has.
        supported: RangeInclusive<usize>,
        /// The rank of the tensor.
        rank: usize,
    },
    /// The feature level has no tensor of this type.
    DataType {
        /// The feature level.
        level: FeatureLevel,
        /// The member that describes the tensor.
        argument: &'static str,
        /// The types that the feature level has.
        supported: &'static [DType],
        /// The type of the tensor.
        data_type: DType,
    },
    /// A size is 0, which no feature level allows.
    ZeroSize {
        /// The member that describes the tensor.
        argument: &'static str,
        /// The axis of this size.
        axis: usize,
    },
    /// A tensor has more elements than any feature level allows.
    TooManyElements {
        /// The member that describes the tensor.
        argument: &'static str,
        /// How many there are; `u128::MAX` if there are more.
        elements: u128,
    },
}

impl std::error::Error for Error {}

impl<E: Into<trundle_core::Error>> From<E> for Error {
    fn from(error: E) -> Error {
        Error::Operator(error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Operator(error) => error.fmt(f),
            Error::BufferTooSmall { argument, needed, total } => {
                write!(f, "{argument} needs {needed} bytes, but its total size is {total}")
            }
            Error::Rank { level, argument, supported, rank } => {
                let (least, most) = (supported.start(), supported.end());
                write!(f, "{argument} has rank {rank}: {level} has {least}..={most}")
            }
            Error::DataType { level, argument, supported, data_type } => {
                write!(f, "{argument} has element type {data_type}: {level} has")?;
                supported.iter().try_for_each(|dtype| write!(f, " {dtype}"))
            }
            Error::ZeroSize { argument, axis } => {
                write!(f, "{argument} has size 0 on axis {axis}: DirectML has sizes from 1 on")
            }
            Error::TooManyElements { argument, elements } => {
                let most = u32::MAX;
                write!(f, "{argument} has {elements} elements: DirectML has {most} at most")
            }
        }
    }
}
