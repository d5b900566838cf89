//! Problems with a part of a model whose name is not known yet.

use crate::Error;

#[derive(Debug)]
pub(crate) enum Problem {
    /// It violates the rules of its operator or format.
    Wrong(String),
    /// Its form is not supported.
    Unsupported(String),
    /// It computes with elements of the model's inputs.
    Computes,
    /// It could not be read. The error already names it.
    Known(Error),
}

pub(crate) type Checked<T> = std::result::Result<T, Problem>;

impl Problem {
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

macro_rules! wrong {
    ($($words:tt)*) => {
        Err($crate::problem::Problem::Wrong(format!($($words)*)))
    };
}
pub(crate) use wrong;

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
