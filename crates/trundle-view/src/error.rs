//! Why there is no picture.

use std::io;

/// Why the elements of a slice cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is malformed, or cannot be read.
    #[error(transparent)]
    File(#[from] trundle_formats::Error),
    /// The slice cannot be addressed.
    #[error(transparent)]
    Layout(#[from] trundle::Error),
    /// The system refused to read.
    #[error("cannot read: {0}")]
    Read(io::Error),
    /// The least that is needed is more memory than may be used.
    #[error("{needed} bytes of memory are needed, {limit} may be used")]
    Memory {
        /// The bytes that are needed at least.
        needed: u64,
        /// The bytes that may be used.
        limit: u64,
    },
    /// The system does not have so much memory.
    #[error("cannot reserve {bytes} bytes: not enough memory")]
    NoMemory {
        /// The bytes that were asked for.
        bytes: usize,
    },
}
