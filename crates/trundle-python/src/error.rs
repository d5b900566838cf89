//! Python exceptions.

use std::io::ErrorKind;

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use trundle::notation::NotationError;
use trundle::{DTypeError, Error, OpError, PlanError, ShapeError};

use crate::lazy::Lazy;

/// A `numpy.exceptions.AxisError` is a ValueError and an IndexError.
fn new_axis_error<'py>(py: Python<'py>, arguments: impl PyCallArgs<'py>) -> PyErr {
    static AXIS_ERROR: Lazy<Py<PyAny>> = Lazy::new();
    let class = AXIS_ERROR.get_or_make(py, || {
        // numpy before 1.25 has it in the top-level module.
        let home = py.import("numpy.exceptions").or_else(|_| py.import("numpy"))?;
        home.getattr("AxisError").map(Bound::unbind)
    });
    let error = class.and_then(|class| class.bind(py).call1(arguments));
    error.map_or_else(|error| error, PyErr::from_value)
}

pub(crate) fn axis_error(py: Python<'_>, message: String) -> PyErr {
    new_axis_error(py, (message,))
}

/// An AxisError for an axis outside of `-rank..rank`, with numpy's message.
pub(crate) fn axis_out_of_range<'py>(
    py: Python<'py>,
    argument: &str,
    axis: impl IntoPyObject<'py>,
    rank: usize,
) -> PyErr {
    let prefix = Some(argument).filter(|argument| !matches!(*argument, "axis" | "axes"));
    new_axis_error(py, (axis, rank, prefix))
}

pub(crate) fn refused(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Shape(ShapeError::AxisOutOfRange { .. }) => axis_error(py, error.to_string()),
        Error::Op(OpError::IndexOutOfRange { .. }) => PyIndexError::new_err(error.to_string()),
        Error::DType(DTypeError::DTypeMismatch { .. }) => PyTypeError::new_err(error.to_string()),
        Error::Shape(ShapeError::TooLarge { .. }) => PyMemoryError::new_err(error.to_string()),
        Error::DeviceFailed { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// AxisError or IndexError for an axis or index out of range, else ValueError. Shows the fault in the chain if the
/// caller wrote it.
pub(crate) fn not_planned(py: Python<'_>, error: &PlanError, is_written: bool) -> PyErr {
    match error {
        PlanError::Layout(error) => refused(py, error),
        PlanError::Chain(chain) if !is_written => refused(py, &chain.source),
        PlanError::Chain(chain)
            if matches!(*chain.source, Error::Shape(ShapeError::AxisOutOfRange { .. })) =>
        {
            axis_error(py, error.to_string())
        }
        PlanError::Chain(chain)
            if matches!(*chain.source, Error::Op(OpError::IndexOutOfRange { .. })) =>
        {
            PyIndexError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Adds a hint for stages that were formatted from printed arrays, and replaces hints about files.
pub(crate) fn not_parsed(error: &NotationError) -> PyErr {
    let mut error = error.clone();
    if is_of_printed_lengths(&error) {
        let hint = "give the lengths at the call, as chain(\"reverse(axis=1, lengths=n)\")(x, n=lengths), \
                    or write lengths.tolist()";
        error.suggestion = Some(hint.to_owned());
    }
    if let Some(suggestion) = &mut error.suggestion {
        *suggestion = suggestion.replace("lengths=lens.npy", "lengths=n");
    }
    PyValueError::new_err(error.to_string())
}

/// Lengths as Python prints an array, or a list of numpy integers.
fn is_of_printed_lengths(error: &NotationError) -> bool {
    const PRINTED: [&str; 4] = ["np.", "array(", "tensor(", "..."];
    let (before, from) = error.text.split_at_checked(error.span.start).unwrap_or_default();
    let stage_start = before.rfind('|').map_or(0, |bar| bar + 1);
    let stage_end = from.find('|').map_or(error.text.len(), |bar| before.len() + bar);
    let stage = &error.text[stage_start..stage_end];
    let Some((_, lengths)) = stage.split_once("lengths=") else { return false };
    let lengths_start = stage_end - lengths.len();
    // `[1 2]` has no commas.
    let has_no_comma = lengths.starts_with('[') && error.message.starts_with("expected \",\"");
    error.span.start >= lengths_start
        && (has_no_comma || PRINTED.iter().any(|printed| lengths.contains(printed)))
}

/// Creates an OSError, which Python turns into FileNotFoundError, FileExistsError, IsADirectoryError or
/// PermissionError.
pub(crate) fn system_error(
    number: Option<i32>,
    kind: ErrorKind,
    message: &str,
    file: &str,
) -> PyErr {
    let number = match kind {
        ErrorKind::NotFound => Some(2),
        ErrorKind::PermissionDenied => Some(13),
        ErrorKind::AlreadyExists => Some(17),
        ErrorKind::IsADirectory => Some(21),
        // On Windows, system error codes differ from `errno`.
        _ => number.filter(|_| cfg!(unix)),
    };
    let Some(number) = number else { return PyOSError::new_err(message.to_owned()) };
    // Python adds the error code and the file name.
    let why = message.strip_prefix(file).and_then(|rest| rest.strip_prefix(": "));
    let why = why.unwrap_or(message).replace(&format!(" (os error {number})"), "");
    PyOSError::new_err((number, why, file.to_owned()))
}

pub(crate) fn out_of_memory(bytes: usize) -> PyErr {
    PyMemoryError::new_err(format!("no memory for a result of {bytes} bytes"))
}
