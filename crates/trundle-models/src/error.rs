//! Errors of models.

use std::io;
use std::path::{Path, PathBuf};

use trundle_formats::Shown;

/// An error in a model or in its inputs. The message is one line; names in it are escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system failed to read a file.
    #[error("{}: cannot read: {source}", Shown(.path.display()))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file violates its format.
    #[error("{}", Shown(.0))]
    Malformed(String),
    /// A file next to the model is a symbolic link out of the model's folder.
    #[error("{0}")]
    Link(String),
    /// An operator that computes, or a form of an operator that is not supported.
    #[error("{}", Shown(.0))]
    Unsupported(String),
    /// Inputs that do not fit the model.
    #[error("{}", Shown(.0))]
    Input(String),
    /// The caller's `go_on` returned false.
    #[error("stopped")]
    Stopped,
    /// A node, or a tensor of the file, is invalid or does not fit its inputs.
    #[error("{}: {}", Shown(.node), Shown(.problem))]
    Node {
        /// The node's operator and name, or the role of the tensor.
        node: String,
        /// The problem.
        problem: String,
    },
}

impl Error {
    pub(crate) fn input_count(takes: usize, got: usize) -> Error {
        Error::Input(format!("wrong number of inputs: the model takes {takes}, got {got}"))
    }

    #[must_use]
    pub(crate) fn within(self, path: &Path) -> Error {
        let named = |problem: String| format!("{}: {problem}", path.display());
        match self {
            Error::Malformed(problem) => Error::Malformed(named(problem)),
            Error::Unsupported(problem) => Error::Unsupported(named(problem)),
            Error::Link(problem) => Error::Link(named(problem)),
            Error::Node { node, problem } => Error::Node { node: named(node), problem },
            other => other,
        }
    }
}

/// The result of an operation on a model.
pub type Result<T> = std::result::Result<T, Error>;
