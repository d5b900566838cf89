//! What trundle refuses, as Python and numpy say it.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use trundle::notation::NotationError;
use trundle::{Error, PlanError};

/// `numpy.exceptions.AxisError`, which is a ValueError and an IndexError.
fn new_axis_error<'py>(py: Python<'py>, arguments: impl PyCallArgs<'py>) -> PyErr {
    static AXIS_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = AXIS_ERROR.get_or_try_init(py, || {
        // numpy before 1.25 has it at the top.
        let home = py.import("numpy.exceptions").or_else(|_| py.import("numpy"))?;
        home.getattr("AxisError").map(Bound::unbind)
    });
    let error = class.and_then(|class| class.bind(py).call1(arguments));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// An axis error with a message.
pub(crate) fn axis_error(py: Python<'_>, message: String) -> PyErr {
    new_axis_error(py, (message,))
}

/// An axis outside of `-rank..rank`, in numpy's words.
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
        Error::AxisOutOfRange { .. } => axis_error(py, error.to_string()),
        Error::DTypeMismatch { .. } => PyTypeError::new_err(error.to_string()),
        Error::TooLarge { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Why a chain does not fit: numpy's error for an axis that the array has not, else ValueError.
/// The place in the chain is shown if the caller wrote it.
pub(crate) fn not_planned(py: Python<'_>, error: &PlanError, is_written: bool) -> PyErr {
    match error {
        PlanError::Layout(error) => refused(py, error),
        PlanError::Chain(chain) if !is_written => refused(py, &chain.source),
        PlanError::Chain(chain) if matches!(*chain.source, Error::AxisOutOfRange { .. }) => {
            axis_error(py, error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub(crate) fn not_parsed(error: &NotationError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn out_of_memory(bytes: usize) -> PyErr {
    PyMemoryError::new_err(format!("no memory for a result of {bytes} bytes"))
}
