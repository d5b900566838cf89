//! Errors of reading and writing a store.

use std::io;

/// An error of reading or writing a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The content is not supported, or exceeds the limits.
    #[error("{0}")]
    Unsupported(String),
    /// There are more arrays or folders than the limits allow.
    #[error("{0}")]
    TooMany(String),
    /// A chunk does not match the metadata.
    #[error("chunk {key}: {why}")]
    Chunk {
        /// The key of the chunk in the store.
        key: String,
        /// The problem.
        why: String,
    },
}

impl Error {
    #[allow(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
    pub(crate) fn unsupported(why: impl ToString) -> Error {
        Error::Unsupported(why.to_string())
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
