//! Errors of reading and writing files.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use crate::Shown;
use crate::url::without_password;

/// A problem, and the file that has it. The message is a single line, with control characters in names escaped.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", Shown(.file), Shown(.problem))]
pub struct Error {
    /// The path of the file, or `stdin` or `stdout`.
    pub file: String,
    /// The problem.
    pub problem: Problem,
}

impl Error {
    /// Creates an error for the file at `path`; `stream` is the name of `-`.
    pub(crate) fn at(path: &Path, stream: &str, problem: Problem) -> Error {
        Error { file: file_name(path, stream), problem }
    }

    /// Returns how a program that fails with this error should exit.
    pub fn exit_class(&self) -> ExitClass {
        self.problem.exit_class()
    }
}

/// The kind of failure of an [`Error`], which determines the exit code of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitClass {
    /// A failure while running: reading, writing, a full disk, or too little memory. The exit code is 1.
    Failed,
    /// Wrong usage: an unknown file extension, an output that exists, a missing type. The exit code is 2.
    Usage,
    /// An input is malformed or not supported. The exit code is 3.
    Refused,
}

/// A problem with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Reading or writing failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// The operation that failed, as it follows "cannot" in the message.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// There is not enough memory for the data.
    #[error("cannot load {}: not enough memory", in_bytes(*bytes as u64))]
    NoMemory {
        /// The requested size in bytes.
        bytes: usize,
    },
    /// No format has the file extension of the path.
    #[error("unknown ending \"{ending}\": expected one of {}, or - for a stream", known.join(" "))]
    UnknownEnding {
        /// The extension with its dot; empty if the path has none.
        ending: String,
        /// The known extensions, each with its dot; for an output, of writable formats only.
        known: Vec<String>,
    },
    /// The output exists.
    #[error("already exists")]
    Exists,
    /// The store to add to does not exist.
    #[error("does not exist, so nothing can be added to it")]
    NoStore,
    /// A run was interrupted while it moved new chunks into the store.
    #[error("an earlier append was interrupted while it changed the store")]
    HalfAdded,
    /// Another run adds to a store in a bucket, or was interrupted.
    #[error("another append writes to the store, or was interrupted")]
    AddedTo,
    /// A run of another request was interrupted while it wrote chunks to a store in a bucket.
    #[error(
        "an append with other inputs or options was interrupted: resume that one, or delete .trundle-append from the store if its region does not matter"
    )]
    OtherBegun,
    /// The store was changed after a run had begun to add to it.
    #[error("{0} was changed or replaced after the append had read it")]
    ChangedStore(String),
    /// Another process uses the temporary file of the same output.
    #[error("is being written by another process")]
    Busy,
    /// A file is needed, but the path is a folder.
    #[error("is a folder")]
    Folder,
    /// The path is a folder that is not a Zarr store. It is not overwritten.
    #[error("is a folder but not a Zarr store, so it is not overwritten")]
    OtherFolder,
    /// A Zarr store exists at this path in a bucket. It is not overwritten.
    #[error(
        "already exists, and trundle overwrites stores in local folders only: remove it first, or choose another name"
    )]
    NotReplaced,
    /// Another process writes to the same path in a bucket, or was interrupted.
    #[error("is being written by another run, or an interrupted run left it unfinished")]
    Unfinished,
    /// The folder of the output does not exist.
    #[error("the folder {} does not exist", .0.display())]
    NoFolder(PathBuf),
    /// A finished output could not be renamed to its path, and was kept under another name.
    #[error("{why}; the finished result is kept as {}", path.display())]
    Kept {
        /// The reason why the output could not be renamed.
        why: Box<Problem>,
        /// The path of the kept file or folder.
        path: PathBuf,
    },
    /// The format holds exactly one tensor, but another number was given.
    #[error("a file of format {format} holds one tensor, got {}", listed(tensors))]
    OneTensor {
        /// The name of the format.
        format: &'static str,
        /// The names of the given tensors.
        tensors: Vec<String>,
    },
    /// The format cannot represent a property of a tensor.
    #[error("a file of format {format} cannot hold tensor \"{tensor}\": {why}")]
    CannotHold {
        /// The name of the format.
        format: &'static str,
        /// The name of the tensor.
        tensor: String,
        /// The property that the format cannot represent.
        why: String,
    },
    /// The number of CRC-32 values is wrong.
    #[error("each tensor needs a CRC-32: expected {expected}, got {got}")]
    Crc32s {
        /// The number of tensors.
        expected: usize,
        /// The number of values given.
        got: usize,
    },
    /// The bytes given do not match the size of the tensor.
    #[error("tensor \"{name}\" needs {}, got {got}", in_bytes(*expected as u64))]
    DataSize {
        /// The name of the tensor.
        name: String,
        /// The size of the tensor in bytes, from its shape and type.
        expected: usize,
        /// The number of bytes given.
        got: usize,
    },
    /// The content does not conform to its format.
    #[error("{0}")]
    Malformed(String),
    /// The content is valid, but not supported.
    #[error("{0}")]
    Unsupported(String),
    /// The content ends too early.
    #[error("truncated: {part} should have {}, but has {got}", in_bytes(*expected))]
    Truncated {
        /// The incomplete part.
        part: &'static str,
        /// The bytes that it should have.
        expected: u64,
        /// The bytes that it has.
        got: u64,
    },
    /// The data would begin beyond the end of the file.
    #[error("the data begins at byte {offset}, but the file has {}", in_bytes(*length))]
    OffsetBeyond {
        /// The offset of the data from the start of the file, in bytes.
        offset: u64,
        /// The size of the file in bytes.
        length: u64,
    },
    /// There is more data than the tensor needs, in a format that does not allow it.
    #[error("the tensor needs {}, but there are {got}", in_bytes(*expected))]
    DataLeft {
        /// The size of the tensor in bytes.
        expected: u64,
        /// The bytes found. Reading a stream stops as soon as there are too many.
        got: u64,
    },
    /// The file lacks information that only a [`TensorHint`](crate::TensorHint) can give.
    #[error("{0}")]
    HintMissing(&'static str),
    /// A [`TensorHint`](crate::TensorHint) has an offset, but the file states where its data begins.
    #[error("states where its data begins: an offset works for raw bytes only")]
    Offset,
    /// The content contradicts its [`TensorHint`](crate::TensorHint).
    #[error("{0}")]
    HintDiffers(String),
    /// A member of an archive has a problem.
    #[error("member \"{member}\": {problem}")]
    Member {
        /// The name of the member.
        member: String,
        /// The problem.
        problem: Box<Problem>,
    },
    /// A file that the file names has a problem.
    #[error("file \"{file}\": {problem}")]
    Beside {
        /// The name of the other file.
        file: String,
        /// The problem.
        problem: Box<Problem>,
    },
    /// The shape is too large to be addressed.
    #[error(transparent)]
    Shape(#[from] trundle_core::ShapeError),
}

impl Problem {
    pub(crate) fn unsupported(why: impl Into<String>) -> Problem {
        Problem::Unsupported(why.into())
    }

    /// Returns the error for a malformed header.
    pub(crate) fn header(what: impl Display) -> Problem {
        Problem::Malformed(format!("malformed header: {what}"))
    }

    /// Returns the error for a file that does not begin with the magic of its format. `kind` is the format with its
    /// article, such as `a GGUF`.
    pub(crate) fn magic(kind: &str, found: &[u8], expected: &[u8]) -> Problem {
        let (found, expected) = (found.escape_ascii(), expected.escape_ascii());
        Problem::Malformed(format!(
            "not {kind} file: it begins with \"{found}\", expected \"{expected}\""
        ))
    }

    pub(crate) fn member(name: impl Into<String>, problem: Problem) -> Problem {
        Problem::Member { member: name.into(), problem: Box::new(problem) }
    }

    pub(crate) fn beside(file: impl Into<String>, problem: Problem) -> Problem {
        Problem::Beside { file: file.into(), problem: Box::new(problem) }
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
            Problem::Member { problem, .. }
            | Problem::Beside { problem, .. }
            | Problem::Kept { why: problem, .. } => problem.exit_class(),
            // The data does not match its checksum or encoding.
            Problem::Io { source, .. } if source.kind() == io::ErrorKind::InvalidData => {
                ExitClass::Refused
            }
            Problem::Io { .. }
            | Problem::NoMemory { .. }
            | Problem::Busy
            | Problem::Unfinished
            | Problem::HalfAdded
            | Problem::AddedTo
            | Problem::OtherBegun
            | Problem::NoFolder(_) => ExitClass::Failed,
            Problem::UnknownEnding { .. }
            | Problem::Exists
            | Problem::NoStore
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
            | Problem::ChangedStore(_)
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

/// Formats names for messages: their number, and the first ones.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    match names.len() {
        0 => "none".to_owned(),
        number if number > MOST => format!("{number}: {}, ...", names[..MOST].join(", ")),
        number => format!("{number}: {}", names.join(", ")),
    }
}

/// Returns the name of the file at `path` for messages; `stream` for `-`.
pub(crate) fn file_name(path: &Path, stream: &str) -> String {
    if is_stream(path) { stream.to_owned() } else { without_password(&path.to_string_lossy()) }
}

pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}
