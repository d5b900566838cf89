//! Why something of a store cannot be read.

use std::io;

/// Why something of a store cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system says why.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Something that is not understood, or larger than is read.
    #[error("{0}")]
    Unsupported(String),
    /// More arrays or folders than are read.
    #[error("{0}")]
    TooMany(String),
    /// A chunk that is not what the metadata says.
    #[error("chunk {key}: {why}")]
    Chunk {
        /// Its key: where it is in the store.
        key: String,
        /// What is wrong with it.
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
