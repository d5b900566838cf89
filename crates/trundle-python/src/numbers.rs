//! Arguments that are a number or several: axes, shifts, sizes, threads.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use crate::error::{axis_error, axis_out_of_range};
use crate::memory::PerAxis;

/// One integer, or a sequence of them. Integers are whatever has `__index__`. One beyond 64 bits is
/// given to `too_large`, with its place.
///
/// # Errors
/// TypeError for what is neither, ValueError for a sequence of sequences.
fn integers<'py>(
    argument: &str,
    value: &Bound<'py, PyAny>,
    too_large: impl Fn(usize, &Bound<'py, PyAny>) -> PyResult<i64>,
) -> PyResult<PerAxis<i64>> {
    let py = value.py();
    let item = |(at, item): (usize, Bound<'py, PyAny>)| match item.extract::<i64>() {
        Ok(number) => Ok(number),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => too_large(at, &item),
        Err(error) if !error.is_instance_of::<PyTypeError>(py) => Err(error),
        Err(_) if item.len().is_ok() && !item.is_instance_of::<PyString>() => {
            let message = format!("{argument} must be an integer or a flat sequence of them");
            Err(PyValueError::new_err(message))
        }
        Err(_) => Err(not_an_integer(argument, &item)),
    };
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return tuple.iter().enumerate().map(item).collect();
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().enumerate().map(item).collect();
    }
    match value.extract::<i64>() {
        Ok(number) => return Ok(PerAxis::from_slice(&[number])),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            return Ok(PerAxis::from_slice(&[too_large(0, value)?]));
        }
        Err(error) if !error.is_instance_of::<PyTypeError>(py) => return Err(error),
        Err(_) => {}
    }
    match value.try_iter() {
        Ok(items) if !value.is_instance_of::<PyString>() => {
            let items = items.collect::<PyResult<Vec<_>>>()?;
            items.into_iter().enumerate().map(item).collect()
        }
        _ => Err(not_an_integer(argument, value)),
    }
}

fn not_an_integer(argument: &str, value: &Bound<'_, PyAny>) -> PyErr {
    refused_for(argument, "an integer or a sequence of them", value)
}

fn refused_for(argument: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{argument} must be {wanted}, not {kind}"))
}

/// The axes that `value` names, counted from the front; one may be there several times.
///
/// # Errors
/// AxisError outside of `-rank..rank`.
pub(crate) fn any_axes(
    argument: &str,
    value: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<PerAxis<i64>> {
    let py = value.py();
    let too_large = |_, axis: &Bound<'_, PyAny>| Err(axis_out_of_range(py, argument, axis, rank));
    let mut axes = integers(argument, value, too_large)?;
    for axis in &mut axes {
        *axis = counted_from_front(py, argument, *axis, rank)?;
    }
    Ok(axes)
}

fn counted_from_front(py: Python<'_>, argument: &str, axis: i64, rank: usize) -> PyResult<i64> {
    let signed = rank.cast_signed() as i64;
    match axis {
        0.. if axis < signed => Ok(axis),
        ..0 if axis >= -signed => Ok(axis + signed),
        _ => Err(axis_out_of_range(py, argument, axis, rank)),
    }
}

/// The axes that `value` names, each of them once.
///
/// # Errors
/// AxisError, or ValueError for one that is named twice.
pub(crate) fn axes(
    argument: &str,
    value: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<PerAxis<i64>> {
    let axes = any_axes(argument, value, rank)?;
    let is_repeated = |(at, axis): (usize, &i64)| axes[..at].contains(axis);
    match axes.iter().enumerate().any(is_repeated) {
        true => Err(PyValueError::new_err(format!("repeated axis in {argument}"))),
        false => Ok(axes),
    }
}

/// The axes that `value` names, which are all that there are.
///
/// # Errors
/// As [`axes`], and ValueError for more or less of them.
pub(crate) fn all_axes(
    argument: &str,
    value: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<PerAxis<i64>> {
    let refused = |named: usize| {
        let message = format!("{argument} don't match array: {named} for {rank} axes");
        Err(PyValueError::new_err(message))
    };
    match value.len() {
        Ok(named) if named != rank => refused(named),
        _ => match axes(argument, value, rank)? {
            axes if axes.len() == rank => Ok(axes),
            axes => refused(axes.len()),
        },
    }
}

/// The axis that `value` names.
///
/// # Errors
/// AxisError, or TypeError for anything but one integer.
pub(crate) fn axis(argument: &str, value: &Bound<'_, PyAny>, rank: usize) -> PyResult<i64> {
    let py = value.py();
    match value.extract::<i64>() {
        Ok(axis) => counted_from_front(py, argument, axis, rank),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            Err(axis_out_of_range(py, argument, value, rank))
        }
        Err(error) if !error.is_instance_of::<PyTypeError>(py) => Err(error),
        Err(_) => Err(refused_for(argument, "an integer", value)),
    }
}

/// An order of all axes as it is written, with none counted from the end.
///
/// # Errors
/// AxisError for a number that no axis can have.
pub(crate) fn order(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<i64>> {
    integers("order", value, |_, axis| {
        Err(axis_error(value.py(), format!("order: axis {axis} is out of range")))
    })
}

/// Shifts, the one at each place along an axis of the size that `size_of` says.
///
/// # Errors
/// TypeError for what is no integer.
pub(crate) fn shifts(
    value: &Bound<'_, PyAny>,
    size_of: impl Fn(usize) -> isize,
) -> PyResult<PerAxis<i64>> {
    integers("shift", value, |at, shift| {
        // Python's remainder has the sign of the size, so it is a shift that does the same.
        let shift = shift.cast::<PyInt>().map(|shift| shift.as_any().clone());
        let shift = shift.or_else(|_| value.call_method0("__index__"))?;
        shift.rem(size_of(at).max(1))?.extract()
    })
}

/// How many threads may take part; `None` for as many as the machine has.
///
/// # Errors
/// TypeError, or ValueError for less than one.
#[inline]
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let Some(value) = value else { return Ok(None) };
    match value.extract::<usize>() {
        Ok(threads @ 1..) => Ok(Some(threads)),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
            Err(refused_for("threads", "an integer", value))
        }
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => Err(error),
        _ => Err(PyValueError::new_err(format!("threads must be 1 or more, not {value}"))),
    }
}
