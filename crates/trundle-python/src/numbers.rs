//! Arguments that are a number or several: axes, shifts, sizes, threads.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use crate::error::{axis_error, axis_out_of_range};
use crate::memory::PerAxis;

/// An argument that is one number, or a sequence of them.
pub(crate) enum OneOrMany<'py> {
    One(Bound<'py, PyAny>),
    Many(PerAxis<Bound<'py, PyAny>>),
}

impl<'py> OneOrMany<'py> {
    /// Integers are whatever has `__index__`.
    ///
    /// # Errors
    /// TypeError for what is neither, ValueError for a sequence of sequences.
    pub(crate) fn of(argument: &str, value: &Bound<'py, PyAny>) -> PyResult<OneOrMany<'py>> {
        if value.is_instance_of::<PyInt>() {
            return Ok(OneOrMany::One(value.clone()));
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return Self::many(argument, tuple.iter());
        }
        if let Ok(list) = value.cast::<PyList>() {
            return Self::many(argument, list.iter());
        }
        if is_index(value) {
            return Ok(OneOrMany::One(value.clone()));
        }
        let items: Vec<_> = match value.try_iter() {
            Ok(items) => items.collect::<PyResult<_>>()?,
            Err(_) => return Err(not_an_integer(argument, value)),
        };
        Self::many(argument, items.into_iter())
    }

    fn many(
        argument: &str,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<OneOrMany<'py>> {
        let check = |item: Bound<'py, PyAny>| match is_index(&item) {
            true => Ok(item),
            false if item.len().is_ok() && !item.is_instance_of::<pyo3::types::PyString>() => {
                let message = format!("{argument} must be an integer or a flat sequence of them");
                Err(PyValueError::new_err(message))
            }
            false => Err(not_an_integer(argument, &item)),
        };
        items.map(check).collect::<PyResult<_>>().map(OneOrMany::Many)
    }

    pub(crate) fn as_slice(&self) -> &[Bound<'py, PyAny>] {
        match self {
            OneOrMany::One(item) => std::slice::from_ref(item),
            OneOrMany::Many(items) => items,
        }
    }
}

/// Whether it stands for an integer. Arrays have `__index__` too, but only those of one number
/// answer to it.
fn is_index(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() || value.extract::<i64>().map_or_else(
        |error| error.is_instance_of::<PyOverflowError>(value.py()),
        |_| true,
    )
}

fn not_an_integer(argument: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{argument} must be an integer or a sequence of them, not {kind}"))
}

/// The axis that `value` names, counted from the front.
///
/// # Errors
/// AxisError outside of `-rank..rank`.
pub(crate) fn axis(argument: &str, value: &Bound<'_, PyAny>, rank: usize) -> PyResult<i64> {
    let py = value.py();
    let axis = match value.extract::<i64>() {
        Ok(axis) => axis,
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            return Err(axis_out_of_range(py, argument, value, rank));
        }
        Err(_) => return Err(not_an_integer(argument, value)),
    };
    let signed = rank.cast_signed() as i64;
    match axis {
        0.. if axis < signed => Ok(axis),
        ..0 if axis >= -signed => Ok(axis + signed),
        _ => Err(axis_out_of_range(py, argument, axis, rank)),
    }
}

/// The axes that `value` names.
///
/// # Errors
/// AxisError, or ValueError for one that is named twice.
pub(crate) fn axes(argument: &str, value: &Bound<'_, PyAny>, rank: usize) -> PyResult<PerAxis<i64>> {
    let named = OneOrMany::of(argument, value)?;
    let axes: PerAxis<i64> =
        named.as_slice().iter().map(|each| axis(argument, each, rank)).collect::<PyResult<_>>()?;
    refuse_repeated(argument, &axes)?;
    Ok(axes)
}

/// # Errors
/// ValueError for an axis that is there twice.
pub(crate) fn refuse_repeated(argument: &str, axes: &[i64]) -> PyResult<()> {
    let repeated = |(at, axis): (usize, &i64)| axes[..at].contains(axis);
    match axes.iter().enumerate().any(repeated) {
        true => Err(PyValueError::new_err(format!("repeated axis in {argument}"))),
        false => Ok(()),
    }
}

/// An order of all axes, as it is written; negative axes are refused.
///
/// # Errors
/// AxisError for a number that no axis can have.
pub(crate) fn order(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<i64>> {
    let numbers = OneOrMany::of("order", value)?;
    let number = |each: &Bound<'_, PyAny>| {
        each.extract::<i64>().map_err(|_| {
            axis_error(value.py(), format!("order: axis {each} is out of range"))
        })
    };
    numbers.as_slice().iter().map(number).collect()
}

/// How far to roll along an axis of this size.
///
/// # Errors
/// TypeError for what is no integer.
pub(crate) fn shift(value: &Bound<'_, PyAny>, size: isize) -> PyResult<i64> {
    match value.extract::<i64>() {
        Ok(shift) => Ok(shift),
        // Python's remainder has the sign of the size, so it is the shift that does the same.
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            value.call_method1("__index__", ())?.rem(size.max(1))?.extract()
        }
        Err(_) => Err(not_an_integer("shift", value)),
    }
}

/// How many threads may take part; `None` for as many as the machine has.
///
/// # Errors
/// TypeError, or ValueError for less than one.
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let Some(value) = value else { return Ok(None) };
    if !is_index(value) {
        return Err(not_an_integer("threads", value));
    }
    match value.extract::<usize>() {
        Ok(threads @ 1..) => Ok(Some(threads)),
        _ => Err(PyValueError::new_err(format!("threads must be 1 or more, not {value}"))),
    }
}
