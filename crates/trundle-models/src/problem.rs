//! What is wrong with a part of a model, before it is said which part that is.

use crate::Error;

/// What is wrong with a node, a tensor or an input.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It is not what its operator or its format takes.
    Wrong(String),
    /// It is a form that is not supported.
    Unsupported(String),
    /// It computes with elements of the model's inputs.
    Computes,
    /// What it holds could not be read, which says itself where that is.
    Known(Error),
}

/// What may be wrong with a part of a model.
pub(crate) type Checked<T> = std::result::Result<T, Problem>;

impl Problem {
    /// The same, of the part that is called so.
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

/// That something is wrong, in the words of `format!`.
macro_rules! wrong {
    ($($words:tt)*) => {
        Err($crate::problem::Problem::Wrong(format!($($words)*)))
    };
}
pub(crate) use wrong;

/// That something is not supported, in the words of `format!`.
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
