//! Why a movement between files did not come about.

use std::io;
use std::path::Path;

use trundle_formats::{ExitClass, Shown};

/// A problem, and the file or tensor it lies in.
#[derive(Debug, thiserror::Error)]
#[error("{subject}{problem}")]
pub struct Error {
    /// What messages begin with, up to the colon and the space; empty where the problem says all.
    pub subject: String,
    /// What is wrong.
    pub problem: Box<Problem>,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A file is malformed, or cannot be read or written.
    #[error(transparent)]
    File(#[from] trundle_formats::Error),
    /// The movement does not fit the tensor.
    #[error(transparent)]
    Plan(#[from] trundle::PlanError),
    /// The system refused to read or write.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried, as it follows "cannot".
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The least that is needed is more memory than may be used.
    #[error("{needed} bytes of memory are needed, {limit} may be used")]
    Memory {
        /// The bytes that are needed at least.
        needed: u64,
        /// The bytes that may be used.
        limit: u64,
    },
    /// Chunks that are asked for do not fit the output.
    #[error("{0}")]
    Chunks(String),
    /// The disk has no room for the output and what lies between two passes.
    #[error("{needed} bytes are needed on the disk, {available} are free")]
    Space {
        /// The bytes that would be written and kept until the end.
        needed: u64,
        /// The bytes that are free.
        available: u64,
    },
    /// The observer stopped the run.
    #[error("stopped")]
    Stopped,
    /// The source is not what it was when the movement began.
    #[error("changed while it was read: {0}")]
    SourceChanged(&'static str),
    /// What an earlier run left cannot be gone on with.
    #[error("cannot resume: {0}")]
    Resume(String),
    /// There is nothing to resume, and the output replaces a source: an earlier run may have moved it.
    #[error(
        "nothing to resume, and the output is the input, which an earlier run may have moved already"
    )]
    MaybeDone,
    /// Another process writes the same output.
    #[error("is being written by another process")]
    Busy,
    /// A job cannot be done in tasks, or not in those that were planned.
    #[error("{0}")]
    Tasks(String),
    /// Tasks that have to be done first are not done, by their numbers.
    #[error("{} done yet: {}", are_missing(.0), ranges(.0))]
    MissingTasks(Vec<usize>),
    /// What was read back is not what was read from the source.
    #[error("verification failed: {0}")]
    Different(String),
}

/// That so many tasks are not done.
fn are_missing(tasks: &[usize]) -> String {
    match tasks.len() {
        1 => "1 task is not".to_owned(),
        count => format!("{count} tasks are not"),
    }
}

/// Rising numbers, those that follow one another as a range: the form in which Slurm takes them.
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
    /// A problem of the file or the tensor of this name.
    pub(crate) fn of(subject: impl std::fmt::Display, problem: impl Into<Problem>) -> Error {
        Error::from(problem).within(subject)
    }

    /// The same, of the file or the tensor of this name.
    pub(crate) fn within(self, subject: impl std::fmt::Display) -> Error {
        Error { subject: format!("{}: ", Shown(subject)), ..self }
    }

    /// A problem of the file at `path`.
    pub(crate) fn file(path: &Path, problem: trundle_formats::Problem) -> Error {
        let file = path.to_string_lossy().into_owned();
        Error::from(trundle_formats::Error { file, problem })
    }

    /// What kind of failure it is, for the exit code of a program.
    pub fn exit_class(&self) -> ExitClass {
        self.problem.exit_class()
    }
}

impl Problem {
    /// What kind of failure it is, for the exit code of a program.
    pub fn exit_class(&self) -> ExitClass {
        match self {
            Problem::File(error) => error.exit_class(),
            // What was read is not what it should be.
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

/// That the file at `path` cannot be read, or no longer has what it had.
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

/// That the file at `path` cannot be written.
pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Error {
    let name = name_of(path, "stdout");
    move |source| Error::of(&name, Problem::Io { doing: "write", source })
}

/// What messages call the file at `path`; `stream` is the name of `-`.
fn name_of(path: &Path, stream: &str) -> String {
    if path == Path::new("-") { stream.to_owned() } else { path.to_string_lossy().into_owned() }
}

/// That a temporary file cannot be written: one in `folder`, or else in the system's folder for such
/// files.
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
            // What an error that is not the system's own tells is the name of the file.
            (kind, None) => kind.into(),
            (_, Some(_)) => source,
        };
        Error::of(&name, Problem::Io { doing, source })
    }
}
