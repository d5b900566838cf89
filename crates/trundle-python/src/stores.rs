//! Stores and files that are moved without being in memory: what `trundle.zarr` is made of, and the program.

use std::ffi::OsString;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trundle_cli::functions::{self, Failed, SystemError};

use crate::error::system_error;

fn raised(Failed { code, message, system }: Failed) -> PyErr {
    match system {
        Some(SystemError { number, kind, file }) => system_error(number, kind, &message, &file),
        None if code == 1 => PyOSError::new_err(message),
        None => PyValueError::new_err(message),
    }
}

/// Begin an output that numbered tasks write, and return their plan as text.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "a list of Python becomes a vector")]
pub(crate) fn plan_tasks(py: Python<'_>, arguments: Vec<String>) -> PyResult<String> {
    py.detach(|| functions::plan(&arguments)).map_err(raised)
}

/// Do a task of a plan; whether it was not done before.
#[pyfunction]
#[pyo3(signature = (plan, number, threads = None))]
pub(crate) fn run_task(
    py: Python<'_>,
    plan: &str,
    number: usize,
    threads: Option<usize>,
) -> PyResult<bool> {
    py.detach(|| functions::task(plan, number, threads)).map_err(raised)
}

/// The tasks of a plan that are not done.
#[pyfunction]
pub(crate) fn missing_tasks(py: Python<'_>, plan: &str) -> PyResult<Vec<usize>> {
    py.detach(|| functions::missing(plan)).map_err(raised)
}

/// Let the output of a plan appear; whether it had not before.
#[pyfunction]
pub(crate) fn finish_tasks(py: Python<'_>, plan: &str) -> PyResult<bool> {
    py.detach(|| functions::finish(plan)).map_err(raised)
}

/// Remove what the tasks of a plan have done.
#[pyfunction]
pub(crate) fn discard_tasks(py: Python<'_>, plan: &str) -> PyResult<()> {
    py.detach(|| functions::discard(plan)).map_err(raised)
}

/// Run the program `trundle` with these arguments, the first of which is its name, and return its exit code.
/// `program` is the command that starts it.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>, program: Vec<OsString>) -> u8 {
    py.detach(|| trundle_cli::run(arguments, program))
}
