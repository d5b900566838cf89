//! Why something of a file cannot be read.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why something of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system says why.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Something that contradicts itself or the format.
    #[error("{0}")]
    Malformed(String),
    /// Something that is not understood, or larger than is read.
    #[error("{0}")]
    Unsupported(String),
    /// A chunk that is not what the metadata says.
    #[error("\"{dataset}\": chunk at {at:?}: {why}")]
    Chunk {
        /// The path of the dataset.
        dataset: String,
        /// The index of its first element.
        at: Vec<u64>,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    pub(crate) fn malformed(why: impl Into<String>) -> Error {
        Error::Malformed(why.into())
    }

    pub(crate) fn unsupported(why: impl Into<String>) -> Error {
        Error::Unsupported(why.into())
    }
}

impl From<hdf5_reader::error::Error> for Error {
    fn from(error: hdf5_reader::error::Error) -> Error {
        match error {
            hdf5_reader::error::Error::Io(error) => Error::Io(error),
            other => Error::Malformed(other.to_string()),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}

/// The result of `read`, which calls functions of `hdf5_reader` on bytes that nobody vouches for: if one of
/// them panics, that the file is malformed. None is known to; nothing that `read` has changed is used after.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(Error::malformed("its metadata contradicts itself, and could not be read to the end"))
    })
}
