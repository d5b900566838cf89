//! What is wrong with a node, before it is said which node that is.

use crate::Error;

/// What is wrong with a node.
pub(super) enum Problem {
    /// It is not what its operator takes.
    Wrong(String),
    /// It is a form of its operator that is not supported.
    Unsupported(String),
    /// What it holds could not be read, which says itself where that is.
    Known(Error),
}

/// What may be wrong with a node.
pub(super) type Checked<T> = std::result::Result<T, Problem>;

impl Problem {
    /// The same, of the node `label`.
    pub(super) fn of(self, label: String) -> Error {
        match self {
            Problem::Wrong(problem) => Error::Node { node: label, problem },
            Problem::Unsupported(problem) => Error::Unsupported(format!("{label}: {problem}")),
            Problem::Known(error) => error,
        }
    }
}

/// A wrong node.
pub(super) fn wrong<T>(problem: String) -> Checked<T> {
    Err(Problem::Wrong(problem))
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Known(error)
    }
}
