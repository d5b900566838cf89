//! Problems with a part of a model, reported before the part's name is known.

use crate::Error;

#[derive(Debug)]
pub(crate) enum Problem {
    /// The part violates the rules of its operator or format.
    Wrong(String),
    /// The form of the part is not supported.
    Unsupported(String),
    /// The part computes with elements of the model's inputs.
    Computes,
    /// The part could not be read. The error already names the part.
    Known(Error),
}

pub(crate) type Checked<T> = std::result::Result<T, Problem>;

impl Problem {
    /// Turns the problem into an error of the part named `label`.
    pub(crate) fn of(self, label: impl Into<String>) -> Error {
        let node = label.into();
        match self {
            Problem::Wrong(problem) => Error::Node { node, problem },
            Problem::Unsupported(problem) => Error::Unsupported(format!("{node}: {problem}")),
            Problem::Computes => Error::Unsupported(format!("{node}: it computes")),
            Problem::Known(error) => error,
        }
    }
}

/// Returns [`Problem::Wrong`] with a `format!` message.
macro_rules! wrong {
    ($($words:tt)*) => {
        Err($crate::problem::Problem::Wrong(format!($($words)*)))
    };
}
pub(crate) use wrong;

/// Returns [`Problem::Unsupported`] with a `format!` message.
macro_rules! unsupported {
    ($($words:tt)*) => {
        Err($crate::problem::Problem::Unsupported(format!($($words)*)))
    };
}
pub(crate) use unsupported;

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Known(error)
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Problem {
        Problem::Wrong(problem)
    }
}

impl From<trundle_core::ShapeError> for Problem {
    fn from(error: trundle_core::ShapeError) -> Problem {
        Problem::Wrong(error.to_string())
    }
}

impl From<trundle_core::Error> for Problem {
    fn from(error: trundle_core::Error) -> Problem {
        Problem::Wrong(error.to_string())
    }
}
