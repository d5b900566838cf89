//! Elements in the opposite order.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use trundle::Shape;
use trundle::ops::{ReverseSequence, ReverseSubsequences};

use crate::array::Class;
use crate::error::refused;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, out=None, threads=None))]
pub(crate) fn flip<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    let axes = match axis {
        None => (0..).take(rank).collect(),
        Some(axis) => numbers::axes("axis", axis, rank)?,
    };
    moved(py, &Operation::Flip(axes), &x, out, threads)
}

#[pyfunction]
#[pyo3(signature = (x, /, lengths, *, axis, out=None, threads=None))]
pub(crate) fn reverse_subsequences<'py>(
    x: &Bound<'py, PyAny>,
    lengths: &Bound<'py, PyAny>,
    axis: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let axis = numbers::axis("axis", axis, x.memory.sizes.len())?;
    let (sizes, lengths) = integers(lengths)?;
    let lengths: Arc<[u64]> = lengths
        .into_iter()
        .enumerate()
        .map(|(at, length)| {
            u64::try_from(length).map_err(|_| {
                PyValueError::new_err(format!("lengths: length {length} at index {at} is negative"))
            })
        })
        .collect::<PyResult<_>>()?;
    let shape = Shape::new(sizes).map_err(|error| refused(py, &error))?;
    let op = ReverseSubsequences::dense(axis, shape, lengths);
    moved(py, &Operation::Once(op.into()), &x, out, threads)
}

#[pyfunction]
#[pyo3(signature = (x, /, lengths, *, axis, batch_axis, out=None, threads=None))]
pub(crate) fn reverse_sequence<'py>(
    x: &Bound<'py, PyAny>,
    lengths: &Bound<'py, PyAny>,
    axis: &Bound<'py, PyAny>,
    batch_axis: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    let axis = numbers::axis("axis", axis, rank)?;
    let batch_axis = numbers::axis("batch_axis", batch_axis, rank)?;
    let (sizes, lengths) = integers(lengths)?;
    if sizes.len() != 1 {
        let message = format!("lengths must have 1 axis, not {}", sizes.len());
        return Err(PyValueError::new_err(message));
    }
    let op = ReverseSequence::new(axis, batch_axis, lengths);
    moved(py, &Operation::Once(op.into()), &x, out, threads)
}

/// The sizes and the numbers of an array of integers of any type, row-major.
///
/// # Errors
/// TypeError for elements that are no integers.
fn integers(lengths: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Vec<i128>)> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = lengths.py();
    let array = AS_ARRAY.import(py, "numpy", "asarray")?.call1((lengths,))?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let sizes: Vec<usize> = array.getattr("shape")?.extract()?;
    // numpy makes floats of an empty list.
    let is_empty_list = sizes.contains(&0) && lengths.is_instance_of::<PyList>();
    let numbers = match kind.as_str() {
        "u" => values::<u64>(&array)?.into_iter().map(i128::from).collect(),
        "i" => values::<i64>(&array)?.into_iter().map(i128::from).collect(),
        _ if is_empty_list => Vec::new(),
        _ => return Err(PyTypeError::new_err(format!("lengths must be integers, not {dtype}"))),
    };
    Ok((sizes, numbers))
}

/// The elements of an array as numbers of one type, which is not narrower than theirs.
fn values<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let wide = array.call_method1("astype", (T::get_dtype(array.py()),))?;
    Ok(wide.call_method0("ravel")?.cast::<PyArray1<T>>()?.to_vec()?)
}
