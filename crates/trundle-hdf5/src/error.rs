//! Errors of reading and writing a file.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error of reading or writing a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The content does not conform to the format.
    #[error("{0}")]
    Malformed(String),
    /// The content is not supported, or exceeds the limits.
    #[error("{0}")]
    Unsupported(String),
    /// A chunk does not match the metadata.
    #[error("\"{dataset}\": chunk at {at:?}: {why}")]
    Chunk {
        /// The path of the dataset.
        dataset: String,
        /// The index of the chunk's first element.
        at: Vec<u64>,
        /// The problem.
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

/// Runs `read`, and turns a panic into an error. `read` passes untrusted bytes to `hdf5_reader`; no panic is known, and
/// nothing that `read` changed is used afterwards.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(Error::malformed("its metadata is inconsistent and cannot be read"))
    })
}
