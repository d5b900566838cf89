//! Errors, which name the tensor and contain the wrong values.

use std::fmt;
use std::ops::RangeInclusive;

use trundle_core::DType;

use super::FeatureLevel;

/// The result of fallible functions of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a descriptor was refused. The call has written nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The descriptors are wrong at every feature level.
    Operator(trundle_core::Error),
    /// A tensor has more bytes than its buffer.
    BufferTooSmall {
        /// The member that describes the tensor.
        argument: &'static str,
        /// The number of bytes that the tensor needs.
        needed: u64,
        /// The total size in the tensor's descriptor.
        total: u64,
    },
    /// The feature level does not support this rank.
    Rank {
        /// The feature level.
        level: FeatureLevel,
        /// The member that describes the tensor.
        argument: &'static str,
        /// The supported ranks.
        supported: RangeInclusive<usize>,
        /// The rank of the tensor.
        rank: usize,
    },
    /// The feature level does not support this element type.
    DataType {
        /// The feature level.
        level: FeatureLevel,
        /// The member that describes the tensor.
        argument: &'static str,
        /// The supported types.
        supported: &'static [DType],
        /// The type of the tensor.
        data_type: DType,
    },
    /// A size is 0, which no feature level supports.
    ZeroSize {
        /// The member that describes the tensor.
        argument: &'static str,
        /// The axis of size 0.
        axis: usize,
    },
    /// A tensor has more elements than any feature level supports.
    TooManyElements {
        /// The member that describes the tensor.
        argument: &'static str,
        /// The number of elements, at most `u128::MAX`.
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
                write!(f, "{argument} has rank {rank}: {level} supports {least}..={most}")
            }
            Error::DataType { level, argument, supported, data_type } => {
                write!(f, "{argument} has element type {data_type}: {level} supports")?;
                supported.iter().try_for_each(|dtype| write!(f, " {dtype}"))
            }
            Error::ZeroSize { argument, axis } => {
                write!(f, "{argument} has size 0 on axis {axis}: DirectML needs sizes of 1 or more")
            }
            Error::TooManyElements { argument, elements } => {
                let most = u32::MAX;
                write!(f, "{argument} has {elements} elements: DirectML allows at most {most}")
            }
        }
    }
}
