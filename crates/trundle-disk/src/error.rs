//! Errors of planning and running a job.

use std::io;
use std::path::Path;

use trundle_formats::{ExitClass, Shown};

/// A problem, and the file or tensor that has it.
#[derive(Debug, thiserror::Error)]
#[error("{subject}{problem}")]
pub struct Error {
    /// The file or tensor, followed by a colon and a space. Empty if the message of the problem names it.
    pub subject: String,
    /// The problem.
    pub problem: Box<Problem>,
}

/// The reason for an [`Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A file is malformed, or cannot be read or written.
    #[error(transparent)]
    File(#[from] trundle_formats::Error),
    /// The operators do not fit the tensor.
    #[error(transparent)]
    Plan(#[from] trundle::PlanError),
    /// A read or write failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// The operation that failed, as it follows "cannot" in the message.
        doing: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The memory limit is too low.
    #[error("{needed} bytes of memory are needed, the limit is {limit}")]
    Memory {
        /// The smallest sufficient limit in bytes.
        needed: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The requested chunks do not fit the output.
    #[error("{0}")]
    Chunks(String),
    /// The disk has too little space for the output and intermediates.
    #[error("{needed} bytes of disk space are needed, {available} are free")]
    Space {
        /// The size of the output and of intermediates in bytes.
        needed: u64,
        /// The free space in bytes.
        available: u64,
    },
    /// The caller's [`Observer`](crate::Observer) stopped the run.
    #[error("stopped")]
    Stopped,
    /// The source changed during the run.
    #[error("changed while it was read: {0}")]
    SourceChanged(&'static str),
    /// An interrupted run cannot be resumed.
    #[error("cannot resume: {0}")]
    Resume(String),
    /// The output replaces an input, and there is no journal that shows whether an earlier run has already moved it.
    #[error(
        "nothing to resume, and the output is the input, which an earlier run may have moved already"
    )]
    MaybeDone,
    /// Another process writes the same output.
    #[error("is being written by another process")]
    Busy,
    /// A job cannot be divided into tasks, or does not match the planned tasks.
    #[error("{0}")]
    Tasks(String),
    /// Tasks of an earlier stage are not done yet. Contains their numbers.
    #[error("{} done yet: {}", are_missing(.0), ranges(.0))]
    MissingTasks(Vec<usize>),
    /// The output was read back and differs from the source.
    #[error("verification failed: {0}")]
    Different(String),
}

fn are_missing(tasks: &[usize]) -> String {
    match tasks.len() {
        1 => "1 task is not".to_owned(),
        count => format!("{count} tasks are not"),
    }
}

/// Formats ascending numbers as Slurm accepts them, with ranges: `1-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let shown = |(first, last): (usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.into_iter().map(shown).collect::<Vec<_>>().join(",")
}

impl Error {
    pub(crate) fn of(subject: impl std::fmt::Display, problem: impl Into<Problem>) -> Error {
        Error::from(problem).within(subject)
    }

    pub(crate) fn within(self, subject: impl std::fmt::Display) -> Error {
        Error { subject: format!("{}: ", Shown(subject)), ..self }
    }

    pub(crate) fn file(path: &Path, problem: trundle_formats::Problem) -> Error {
        let file = path.to_string_lossy().into_owned();
        Error::from(trundle_formats::Error { file, problem })
    }

    /// Returns the class of the failure, which determines a program's exit code.
    pub fn exit_class(&self) -> ExitClass {
        self.problem.exit_class()
    }
}

impl Problem {
    /// Returns the class of the failure, which determines a program's exit code.
    pub fn exit_class(&self) -> ExitClass {
        match self {
            Problem::File(error) => error.exit_class(),
            // The content of the file is wrong; reading it worked.
            Problem::Io { source, .. } if source.kind() == io::ErrorKind::InvalidData => {
                ExitClass::Refused
            }
            Problem::Io { .. }
            | Problem::Space { .. }
            | Problem::SourceChanged(_)
            | Problem::Stopped
            | Problem::Busy
            | Problem::MissingTasks(_)
            | Problem::Different(_) => ExitClass::Failed,
            Problem::Chunks(_) => ExitClass::Usage,
            Problem::Plan(_)
            | Problem::Memory { .. }
            | Problem::Resume(_)
            | Problem::MaybeDone
            | Problem::Tasks(_) => ExitClass::Refused,
        }
    }
}

impl<P: Into<Problem>> From<P> for Error {
    fn from(problem: P) -> Error {
        Error { subject: String::new(), problem: Box::new(problem.into()) }
    }
}

impl From<trundle::Error> for Problem {
    fn from(error: trundle::Error) -> Problem {
        Problem::Plan(error.into())
    }
}

/// Converts errors of reading the file at `path`. An unexpected end of the file means that it has changed.
pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Error {
    let name = name_of(path, "stdin");
    move |source| {
        let doing = "read";
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return Error::of(&name, Problem::SourceChanged("it is shorter now"));
        }
        Error::of(&name, Problem::Io { doing, source })
    }
}

pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Error {
    let name = name_of(path, "stdout");
    move |source| Error::of(&name, Problem::Io { doing: "write", source })
}

/// Returns the name of a file for messages; `stream` if the path is `-`.
fn name_of(path: &Path, stream: &str) -> String {
    if path == Path::new("-") { stream.to_owned() } else { path.to_string_lossy().into_owned() }
}

/// Converts errors of writing a temporary file in `folder` (default: the system's temporary folder).
pub(crate) fn temporary(folder: Option<&Path>) -> impl Fn(io::Error) -> Error + use<> {
    let (name, doing) = match folder {
        Some(folder) => (folder.to_string_lossy().into_owned(), "write a temporary file"),
        None => (
            std::env::temp_dir().to_string_lossy().into_owned(),
            "write a temporary file (TMPDIR can name another folder)",
        ),
    };
    move |source| {
        let source = match (source.kind(), source.raw_os_error()) {
            (io::ErrorKind::NotFound, _) => io::Error::other("the folder does not exist"),
            // Without an OS error number, the text is only a file name; the kind says more.
            (kind, None) => kind.into(),
            (_, Some(_)) => source,
        };
        Error::of(&name, Problem::Io { doing, source })
    }
}
