//! Arguments of one or more integers: axes, shifts, sizes, numbers of threads.

use std::fmt::Display;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyByteArray, PyBytes, PyDict, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};

use crate::error::{axis_error, axis_out_of_range};
use crate::memory::PerAxis;

/// Reads one integer or a sequence of integers, which are objects with `__index__`. Calls `too_large` beyond 64 bits.
///
/// # Errors
/// TypeError for other objects, ValueError for a sequence of sequences.
fn integers<'py, T: From<i64>>(
    argument: &str,
    value: &Bound<'py, PyAny>,
    too_large: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<PerAxis<T>> {
    let item = |item: Bound<'py, PyAny>| match integer(&item, || too_large(&item))? {
        Some(number) => Ok(number),
        None if item.len().is_ok() && !is_no_sequence(&item) => {
            let message = format!("{argument} must be an integer or a flat sequence of them");
            Err(PyValueError::new_err(message))
        }
        None => Err(not_an_integer(argument, &item)),
    };
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return tuple.iter().map(item).collect();
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(item).collect();
    }
    if let Some(number) = integer(value, || too_large(value))? {
        return Ok([number].into_iter().collect());
    }
    match value.try_iter() {
        Ok(items) if !is_no_sequence(value) => {
            let items = items.collect::<PyResult<Vec<_>>>()?;
            items.into_iter().map(item).collect()
        }
        _ => Err(not_an_integer(argument, value)),
    }
}

/// `None` for an object that is not an integer. Calls `too_large` beyond 64 bits.
#[inline]
fn integer<T: From<i64>>(
    value: &Bound<'_, PyAny>,
    too_large: impl FnOnce() -> PyResult<T>,
) -> PyResult<Option<T>> {
    match value.extract::<i64>() {
        Ok(number) => Ok(Some(number.into())),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => too_large().map(Some),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an object is iterable but not a sequence of numbers: strings, sets and dicts.
fn is_no_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
}

fn not_an_integer(argument: &str, value: &Bound<'_, PyAny>) -> PyErr {
    refused_for(argument, "an integer or a sequence of them", value)
}

fn refused_for(argument: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{argument} must be {wanted}, not {kind}"))
}

/// Axes, counted from the front. An axis may be repeated.
///
/// # Errors
/// AxisError outside of `-rank..rank`.
pub(crate) fn any_axes(
    argument: &str,
    value: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<PerAxis<i64>> {
    let py = value.py();
    let too_large = |axis: &Bound<'_, PyAny>| Err(axis_out_of_range(py, argument, axis, rank));
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

/// Distinct axes.
///
/// # Errors
/// AxisError, or ValueError for a repeated axis.
pub(crate) fn axes(
    argument: &str,
    value: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<PerAxis<i64>> {
    let axes = any_axes(argument, value, rank)?;
    let is_repeated = |(at, axis): (usize, &i64)| axes[..at].contains(axis);
    match axes.iter().enumerate().any(is_repeated) {
        true => Err(PyValueError::new_err(format!("repeated axis in `{argument}` argument"))),
        false => Ok(axes),
    }
}

/// A permutation of all axes.
///
/// # Errors
/// As [`axes`], and ValueError for another number of axes.
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

/// One axis.
///
/// # Errors
/// AxisError if it is out of range, TypeError if it is not one integer.
pub(crate) fn axis(argument: &str, value: &Bound<'_, PyAny>, rank: usize) -> PyResult<i64> {
    let py = value.py();
    let axis = one(argument, value, || Err(axis_out_of_range(py, argument, value, rank)))?;
    counted_from_front(py, argument, axis, rank)
}

/// Calls `too_large` for an integer beyond 64 bits.
///
/// # Errors
/// TypeError if it is not one integer.
#[inline]
pub(crate) fn one(
    argument: &str,
    value: &Bound<'_, PyAny>,
    too_large: impl FnOnce() -> PyResult<i64>,
) -> PyResult<i64> {
    integer(value, too_large)?.ok_or_else(|| refused_for(argument, "an integer", value))
}

/// An order of axes, not normalised.
///
/// # Errors
/// AxisError for a number beyond 64 bits.
pub(crate) fn order(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<i64>> {
    integers("order", value, |axis| {
        Err(axis_error(value.py(), format!("order: axis {axis} is out of range")))
    })
}

/// A shift of any size.
pub(crate) enum Shift<'py> {
    Small(i64),
    /// An `int` of more than 64 bits.
    Large(Bound<'py, PyAny>),
}

impl From<i64> for Shift<'_> {
    fn from(shift: i64) -> Self {
        Shift::Small(shift)
    }
}

impl Shift<'_> {
    /// An equivalent shift along an axis of this size.
    ///
    /// # Errors
    /// The exceptions of Python.
    pub(crate) fn along(&self, size: isize) -> PyResult<i64> {
        match self {
            Shift::Small(shift) => Ok(*shift),
            // Python's remainder has the sign of the divisor.
            Shift::Large(shift) => shift.rem(size.max(1))?.extract(),
        }
    }
}

/// Reads one or more shifts.
///
/// # Errors
/// TypeError for anything but integers.
pub(crate) fn shifts<'py>(value: &Bound<'py, PyAny>) -> PyResult<PerAxis<Shift<'py>>> {
    integers("shift", value, |shift| {
        let index = || shift.call_method0(intern!(shift.py(), "__index__"));
        let is_int = shift.is_instance_of::<PyInt>();
        Ok(Shift::Large(if is_int { shift.clone() } else { index()? }))
    })
}

/// Indices beyond 64 bits saturate.
///
/// # Errors
/// TypeError for anything but integers.
pub(crate) fn indices(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<PerAxis<i64>> {
    integers(argument, value, |index| Ok(if index.gt(0)? { i64::MAX } else { i64::MIN }))
}

/// Sizes or repetitions, which are not negative.
///
/// # Errors
/// TypeError for numbers that are not integers, ValueError for a number that is negative or has more than 64 bits.
pub(crate) fn counts(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<PerAxis<i64>> {
    let counts: PerAxis<i64> = integers(argument, value, |count| Err(no_count(argument, count)))?;
    match counts.iter().find(|count| **count < 0) {
        Some(count) => Err(no_count(argument, count)),
        None => Ok(counts),
    }
}

pub(crate) fn no_count(argument: &str, count: impl Display) -> PyErr {
    let count = count.to_string();
    PyValueError::new_err(match count.starts_with('-') {
        true => format!("{argument} must not be negative, got {count}"),
        false => format!("{argument}: {count} is more than can be counted"),
    })
}

/// The size of the axis `name`.
///
/// # Errors
/// TypeError if it is not one integer, ValueError for an integer of more than 64 bits.
pub(crate) fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let too_large = || format!("{name}={value}: an axis cannot have that size");
    one(name, value, || Err(PyValueError::new_err(too_large())))
}

/// `None` for the default.
///
/// # Errors
/// TypeError if it is not an integer, ValueError if it is less than one.
#[inline]
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let Some(value) = value else { return Ok(None) };
    match value.extract::<usize>() {
        Ok(threads @ 1..) => Ok(Some(threads)),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
            Err(refused_for("threads", "an integer", value))
        }
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => Err(error),
        // A number that does not fit a usize is larger than the number of threads of any machine.
        Err(_) if value.gt(0)? => Ok(Some(usize::MAX)),
        _ => Err(PyValueError::new_err(format!("threads must be 1 or more, not {value}"))),
    }
}
