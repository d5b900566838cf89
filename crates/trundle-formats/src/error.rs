//! Errors of reading and writing files.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use crate::Shown;

/// A problem and the file it concerns. Displays on one line, with control characters in names escaped.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", Shown(.file), Shown(.problem))]
pub struct Error {
    /// The path, or `stdin` or `stdout`.
    pub file: String,
    /// The problem.
    pub problem: Problem,
}

impl Error {
    /// Creates an error for the file at `path`; `stream` replaces `-`.
    pub(crate) fn at(path: &Path, stream: &str, problem: Problem) -> Error {
        Error { file: file_name(path, stream), problem }
    }

    /// Returns how a program that fails with this error should exit.
    pub fn exit_class(&self) -> ExitClass {
        self.problem.exit_class()
    }
}

/// Kind of failure of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitClass {
    /// Failed while running: reading, writing, no space, no memory. Exit status 1.
    Failed,
    /// Wrong usage: an unknown ending, an output that exists, a missing type. Exit status 2.
    Usage,
    /// An input is malformed or not supported. Exit status 3.
    Refused,
}

/// A problem with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system refused to read or write.
    #[error("cannot {doing}: {source}")]
    Io {
        /// The attempted operation, to follow "cannot".
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The data does not fit into memory.
    #[error("cannot load {}: not enough memory", in_bytes(*bytes as u64))]
    NoMemory {
        /// Requested size in bytes.
        bytes: usize,
    },
    /// No format has the path's ending.
    #[error("unknown ending \"{ending}\": expected one of {}, or - for a stream", known.join(" "))]
    UnknownEnding {
        /// The ending with its dot; empty if the path has none.
        ending: String,
        /// The known endings, each with its dot; for an output, of writable formats only.
        known: Vec<String>,
    },
    /// The output exists.
    #[error("already exists")]
    Exists,
    /// Another process uses the temporary file of the same output.
    #[error("is being written by another process")]
    Busy,
    /// A file is needed, but the path is a folder.
    #[error("is a folder")]
    Folder,
    /// The path is a folder that is not a Zarr store, and is not overwritten.
    #[error("is a folder but not a Zarr store, so it is not overwritten")]
    OtherFolder,
    /// A store in a bucket is not overwritten.
    #[error(
        "already exists, and trundle does not overwrite a store in a bucket: remove it first, or choose another name"
    )]
    NotReplaced,
    /// Another process writes to the same path in a bucket, or was interrupted.
    #[error("is being written by another process, or an interrupted process left it unfinished")]
    Unfinished,
    /// The output's folder is missing.
    #[error("the folder {} does not exist", .0.display())]
    NoFolder(PathBuf),
    /// A finished output could not be renamed to its path and was kept under another name.
    #[error("{why}; the finished result is kept as {}", place.display())]
    Kept {
        /// Why the output could not be renamed.
        why: Box<Problem>,
        /// Path of the kept file or folder.
        place: PathBuf,
    },
    /// The format holds exactly one tensor.
    #[error("a file of format {format} holds one tensor, got {}", listed(tensors))]
    OneTensor {
        /// Name of the format.
        format: &'static str,
        /// Names of the given tensors.
        tensors: Vec<String>,
    },
    /// The format cannot represent a property of a tensor.
    #[error("a file of format {format} cannot hold tensor \"{tensor}\": {why}")]
    CannotHold {
        /// Name of the format.
        format: &'static str,
        /// Name of the tensor.
        tensor: String,
        /// The property.
        why: String,
    },
    /// The number of CRC-32 values is wrong.
    #[error("each tensor needs a CRC-32: expected {expected}, got {got}")]
    Crc32s {
        /// Number of tensors in the file.
        expected: usize,
        /// Number of given values.
        got: usize,
    },
    /// The given bytes do not match the tensor's size.
    #[error("tensor \"{name}\" needs {}, got {got}", in_bytes(*expected as u64))]
    DataSize {
        /// Name of the tensor.
        name: String,
        /// Bytes of the tensor by its shape and type.
        expected: usize,
        /// Number of given bytes.
        got: usize,
    },
    /// The content violates its format.
    #[error("{0}")]
    Malformed(String),
    /// The content is valid, but cannot be moved.
    #[error("{0}")]
    Unsupported(String),
    /// The content ends too early.
    #[error("truncated: {part} should have {}, but has {got}", in_bytes(*expected))]
    Truncated {
        /// The incomplete part.
        part: &'static str,
        /// The bytes that the part should have.
        expected: u64,
        /// The bytes that the part has.
        got: u64,
    },
    /// The data would begin beyond the end of the file.
    #[error("the data begins at byte {offset}, but the file has {}", in_bytes(*length))]
    OffsetBeyond {
        /// Offset of the data from the start of the file, in bytes.
        offset: u64,
        /// Size of the file in bytes.
        length: u64,
    },
    /// More data than the tensor needs, in a format that does not allow it.
    #[error("the tensor needs {}, but there are {got}", in_bytes(*expected))]
    DataLeft {
        /// Bytes of the tensor.
        expected: u64,
        /// Bytes found. For a stream, reading stops as soon as there are too many.
        got: u64,
    },
    /// Information is missing that only a [`TensorHint`](crate::TensorHint) can give.
    #[error("{0}")]
    HintMissing(&'static str),
    /// A [`TensorHint`](crate::TensorHint) has an offset, but the file states where its data begins.
    #[error("states where its data begins: an offset works for raw bytes only")]
    Offset,
    /// The content contradicts its [`TensorHint`](crate::TensorHint).
    #[error("{0}")]
    HintDiffers(String),
    /// A problem with one member of an archive.
    #[error("member \"{member}\": {problem}")]
    Member {
        /// Name of the member.
        member: String,
        /// The problem in it.
        problem: Box<Problem>,
    },
    /// A shape too large to be addressed.
    #[error(transparent)]
    Shape(#[from] trundle_core::ShapeError),
}

impl Problem {
    pub(crate) fn unsupported(why: impl Into<String>) -> Problem {
        Problem::Unsupported(why.into())
    }

    /// Returns the error that the header of a file is malformed.
    pub(crate) fn header(what: impl Display) -> Problem {
        Problem::Malformed(format!("malformed header: {what}"))
    }

    /// Returns the error that a file does not begin with the magic of its format. `kind` is the format with its article,
    /// such as `a GGUF`.
    pub(crate) fn magic(kind: &str, found: &[u8], expected: &[u8]) -> Problem {
        let (found, expected) = (found.escape_ascii(), expected.escape_ascii());
        Problem::Malformed(format!(
            "not {kind} file: it begins with \"{found}\", expected \"{expected}\""
        ))
    }

    /// Returns the problem of a member of an archive, or of an entry of another file.
    pub(crate) fn member(name: impl Into<String>, problem: Problem) -> Problem {
        Problem::Member { member: name.into(), problem: Box::new(problem) }
    }

    pub(crate) fn opening(source: io::Error) -> Problem {
        Problem::Io { doing: "open", source }
    }

    pub(crate) fn reading(source: io::Error) -> Problem {
        Problem::Io { doing: "read", source }
    }

    pub(crate) fn writing(source: io::Error) -> Problem {
        Problem::Io { doing: "write", source }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Problem::Member { problem, .. } | Problem::Kept { why: problem, .. } => {
                problem.exit_class()
            }
            // The data contradicts its checksum or encoding.
            Problem::Io { source, .. } if source.kind() == io::ErrorKind::InvalidData => {
                ExitClass::Refused
            }
            Problem::Io { .. }
            | Problem::NoMemory { .. }
            | Problem::Busy
            | Problem::Unfinished
            | Problem::NoFolder(_) => ExitClass::Failed,
            Problem::UnknownEnding { .. }
            | Problem::Exists
            | Problem::Folder
            | Problem::OtherFolder
            | Problem::NotReplaced
            | Problem::OneTensor { .. }
            | Problem::CannotHold { .. }
            | Problem::Crc32s { .. }
            | Problem::DataSize { .. }
            | Problem::HintMissing(_)
            | Problem::Offset => ExitClass::Usage,
            Problem::Malformed(_)
            | Problem::Unsupported(_)
            | Problem::Truncated { .. }
            | Problem::OffsetBeyond { .. }
            | Problem::DataLeft { .. }
            | Problem::HintDiffers(_)
            | Problem::Shape(_) => ExitClass::Refused,
        }
    }
}

#[cfg(feature = "zarr")]
impl From<trundle_zarr::Error> for Problem {
    fn from(error: trundle_zarr::Error) -> Problem {
        match error {
            trundle_zarr::Error::Unsupported(why) | trundle_zarr::Error::TooMany(why) => {
                Problem::Unsupported(why)
            }
            other => Problem::reading(other.into()),
        }
    }
}

#[cfg(feature = "hdf5")]
impl From<trundle_hdf5::Error> for Problem {
    fn from(error: trundle_hdf5::Error) -> Problem {
        match error {
            trundle_hdf5::Error::Malformed(why) => Problem::Malformed(why),
            trundle_hdf5::Error::Unsupported(why) => Problem::Unsupported(why),
            other => Problem::reading(other.into()),
        }
    }
}

/// Formats a number of bytes for messages.
pub(crate) fn in_bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// Formats a list of names for messages: their number if there are many, and the first of them.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    match names.len() {
        0 => "none".to_owned(),
        number if number > MOST => format!("{number}: {}, ...", names[..MOST].join(", ")),
        number => format!("{number}: {}", names.join(", ")),
    }
}

/// Returns the name of the file at `path` for messages; `stream` replaces `-`.
pub(crate) fn file_name(path: &Path, stream: &str) -> String {
    if is_stream(path) { stream.to_owned() } else { path.to_string_lossy().into_owned() }
}

pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}
