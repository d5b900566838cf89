//! The functions of the package, which read their arguments as numpy does.

pub(crate) mod axes;
pub(crate) mod copies;
pub(crate) mod gathers;
pub(crate) mod joins;
pub(crate) mod paddings;
pub(crate) mod repeats;
pub(crate) mod reversals;
pub(crate) mod rolls;
pub(crate) mod splits;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Returns the argument that may be called `axis` or `axes`.
///
/// # Errors
/// TypeError if the call has both.
fn axis_or_axes<T>(function: &str, axis: Option<T>, axes: Option<T>) -> PyResult<Option<T>> {
    if axis.is_some() && axes.is_some() {
        let message = format!("{function}() got both axis and axes: give one of them");
        return Err(PyTypeError::new_err(message));
    }
    Ok(axis.or(axes))
}

/// Returns a required argument that follows an optional one in the signature.
///
/// # Errors
/// TypeError if the argument is missing.
fn required<T>(function: &str, name: &str, value: Option<T>) -> PyResult<T> {
    value.ok_or_else(|| {
        PyTypeError::new_err(format!("{function}() missing required argument '{name}'"))
    })
}

pub(crate) enum AxisOrNone<'py> {
    Default,
    Given(Bound<'py, PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for AxisOrNone<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(AxisOrNone::Given(object.to_owned()))
    }
}
