//! Why a model could not be read, or not be run.

use std::io;
use std::path::{Path, PathBuf};

use trundle_formats::Shown;

/// What is wrong with a model or with what it is given. What it says is on one line, whatever names
/// it holds.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read a file.
    #[error("{}: cannot read: {source}", Shown(.path.display()))]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what its format says.
    #[error("{}", Shown(.0))]
    Malformed(String),
    /// A file beside the model is a link that leads out of its folder.
    #[error("{0}")]
    Link(String),
    /// An operator that computes, or a form of one that is not supported.
    #[error("{}", Shown(.0))]
    Unsupported(String),
    /// Inputs that do not fit the model.
    #[error("{}", Shown(.0))]
    Input(String),
    /// Whoever was asked whether a run goes on said no.
    #[error("stopped")]
    Stopped,
    /// A node, or a tensor that the file holds, that is not what it must be or does not fit what it is given.
    #[error("{}: {}", Shown(.node), Shown(.problem))]
    Node {
        /// Which: a node's operator and name, or what the tensor is.
        node: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// The same, of the model at this path.
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

/// What may fail on a model.
pub type Result<T> = std::result::Result<T, Error>;
