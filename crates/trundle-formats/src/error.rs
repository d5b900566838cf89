//! Why a file could not be read or written: which file, what was found, and both numbers.

use std::io;
use std::path::{Path, PathBuf};

use crate::Shown;

/// A problem, and the file it lies in. What it says is on one line, whatever names it holds.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", Shown(.file), Shown(.problem))]
pub struct Error {
    /// The path, or `stdin` or `stdout`.
    pub file: String,
    /// What is wrong.
    pub problem: Problem,
}

impl Error {
    /// `problem` in the file at `path`; `stream` names `-`.
    pub(crate) fn at(path: &Path, stream: &str, problem: Problem) -> Error {
        Error { file: file_name(path, stream), problem }
    }

    /// How a program that stops because of this should exit.
    pub fn exit_class(&self) -> ExitClass {
        self.problem.exit_class()
    }
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitClass {
    /// Failed while running: reading, writing, no space, no memory. The program exits with 1.
    Failed,
    /// Wrong usage: an unknown ending, an output that exists, a type that is missing. The program
    /// exits with 2.
    Usage,
    /// An input that is malformed or not supported. The program exits with 3.
    Refused,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system refused to read or write.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried, as it follows "cannot".
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The data does not fit the memory.
    #[error("cannot load {}: not enough memory", in_bytes(*bytes as u64))]
    NoMemory {
        /// The bytes that were asked for.
        bytes: usize,
    },
    /// No format has the path's ending.
    #[error("unknown ending \"{ending}\": expected one of {}, or - for a stream", known.join(" "))]
    UnknownEnding {
        /// The ending with its dot; empty if the path has none.
        ending: String,
        /// The endings that are known, each with its dot. For an output, only those of formats that can be written.
        known: Vec<String>,
    },
    /// The output exists.
    #[error("already exists")]
    Exists,
    /// Another process has the temporary file of the same output.
    #[error("is being written by another process")]
    Busy,
    /// A file is needed.
    #[error("is a folder")]
    Folder,
    /// A folder that is not a Zarr store is not overwritten.
    #[error("is a folder but not a Zarr store, so it is not overwritten")]
    OtherFolder,
    /// A store in a bucket is not overwritten.
    #[error(
        "already exists, and a store in a bucket is not replaced: while one is written over the other, neither is whole. Remove it first, or choose another name"
    )]
    NotReplaced,
    /// Another process writes to the same place in a bucket, or did not end well.
    #[error("is being written by another process, or was left unfinished by one")]
    Unfinished,
    /// The output's folder is missing.
    #[error("the folder {} does not exist", .0.display())]
    NoFolder(PathBuf),
    /// A finished output could not get its name, and is there under another.
    #[error("{why}; the finished result is kept as {}", place.display())]
    Kept {
        /// Why it could not.
        why: Box<Problem>,
        /// Where it is.
        place: PathBuf,
    },
    /// More or fewer tensors than the format's files hold.
    #[error("a file of format {format} holds one tensor, got {}", listed(tensors))]
    OneTensor {
        /// The format's name.
        format: &'static str,
        /// The names of the tensors that were to be written.
        tensors: Vec<String>,
    },
    /// The format has no way to state something of a tensor.
    #[error("a file of format {format} cannot hold tensor \"{tensor}\": {why}")]
    CannotHold {
        /// The format's name.
        format: &'static str,
        /// The tensor's name.
        tensor: String,
        /// What cannot be stated.
        why: String,
    },
    /// Values of CRC-32 are missing, or too many.
    #[error("as many values of CRC-32 as tensors are needed: expected {expected}, got {got}")]
    Crc32s {
        /// The tensors of the file.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// The bytes to write are not those of the tensor.
    #[error("tensor \"{name}\" needs {}, got {got}", in_bytes(*expected as u64))]
    DataSize {
        /// The tensor's name.
        name: String,
        /// The bytes that its shape and type fill.
        expected: usize,
        /// The bytes that were given.
        got: usize,
    },
    /// The content breaks the rules of its format.
    #[error("{0}")]
    Malformed(String),
    /// The content follows the rules of its format, but cannot be moved.
    #[error("{0}")]
    Unsupported(String),
    /// The content ends too early.
    #[error("truncated: {part} should have {}, but has {got}", in_bytes(*expected))]
    Truncated {
        /// Which part is incomplete.
        part: &'static str,
        /// The bytes it should have.
        expected: u64,
        /// The bytes it has.
        got: u64,
    },
    /// The data begins after the end.
    #[error("the data begins at byte {offset}, but the file has {}", in_bytes(*length))]
    OffsetBeyond {
        /// Where the data begins, in bytes from the start of the file.
        offset: u64,
        /// The bytes of the file.
        length: u64,
    },
    /// The content goes on after the data, and nothing says that it may.
    #[error("the tensor needs {}, but there are {got}", in_bytes(*expected))]
    DataLeft {
        /// The bytes that the tensor fills.
        expected: u64,
        /// The bytes that were found; of a stream, no more than are enough to know.
        got: u64,
    },
    /// Something is missing that only a [`TensorHint`](crate::TensorHint) can say.
    #[error("{0}")]
    HintMissing(&'static str),
    /// A [`TensorHint`](crate::TensorHint) has an offset, but the file states where its data
    /// begins.
    #[error("states where its data begins: an offset is only for raw bytes")]
    Offset,
    /// The content is not what its [`TensorHint`](crate::TensorHint) says.
    #[error("{0}")]
    HintDiffers(String),
    /// Something is wrong with one member of an archive.
    #[error("member \"{member}\": {problem}")]
    Member {
        /// Its name.
        member: String,
        /// What is wrong with it.
        problem: Box<Problem>,
    },
    /// A shape too large to be addressed.
    #[error(transparent)]
    Shape(#[from] trundle_core::ShapeError),
}

impl Problem {
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
            // What was read is not what it should be.
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

/// So many bytes, as messages say it.
pub(crate) fn in_bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// How many there are, and the first of them.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    match names.len() {
        0 => "none".to_owned(),
        number if number > MOST => format!("{number}: {}, ...", names[..MOST].join(", ")),
        number => format!("{number}: {}", names.join(", ")),
    }
}

/// What messages call the file at `path`; `stream` is the name of `-`.
pub(crate) fn file_name(path: &Path, stream: &str) -> String {
    if is_stream(path) { stream.to_owned() } else { path.to_string_lossy().into_owned() }
}

/// Whether `path` stands for stdin or stdout.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}
