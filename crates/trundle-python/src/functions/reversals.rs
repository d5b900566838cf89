//! Elements in the opposite order.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trundle::Shape;
use trundle::ops::{ReverseSequence, ReverseSubsequences};

use crate::array::{Array, Class};
use crate::dlpack;
use crate::error::refused;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// The elements of `x` in the opposite order along axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// axis : int or sequence of ints, optional
///     The axes, each once; negative ones count from the end. None: all of them.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If an axis is named twice, or if `out` does not fit.
/// TypeError
///     If `axis` has anything but integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.flip`` and the Array API's ``flip`` say; the result is no view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.arange(6).reshape(2, 3)
/// >>> trundle.flip(x, axis=1)
/// array([[2, 1, 0],
///        [5, 4, 3]])
/// >>> trundle.flip(x)
/// array([[5, 4, 3],
///        [2, 1, 0]])
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

/// The first elements along an axis in the opposite order, with a length for every position of the other axes.
///
/// Elements from the length on stay where they are.
///
/// Parameters
/// ----------
/// x : array_like
///     One axis or more, any dtype, but no object dtype and no MaskedArray.
/// lengths : array_like of integers
///     The shape of `x`, but 1 along `axis`. A length over ``x.shape[axis]`` counts as that; 0 and 1 reverse nothing.
/// axis : int
///     The axis to reverse along; a negative one counts from the end.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// ValueError
///     If `lengths` has another shape or a negative length, or if `out` does not fit.
/// TypeError
///     If `lengths` has no integer dtype, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As DirectML's ``DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC`` says. `reverse_sequence` has one length for each index of a
/// batch axis, and refuses those that are too long.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.arange(1, 13).reshape(3, 4)
/// >>> trundle.reverse_subsequences(x, [[2], [4], [3]], axis=1)
/// array([[ 2,  1,  3,  4],
///        [ 8,  7,  6,  5],
///        [11, 10,  9, 12]])
/// >>> trundle.reverse_subsequences(x, [[2, 3, 1, 0]], axis=0)
/// array([[ 5, 10,  3,  4],
///        [ 1,  6,  7,  8],
///        [ 9,  2, 11, 12]])
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
    let (sizes, lengths) = Integers::read(lengths)?;
    let lengths = lengths.not_negative()?;
    let shape = Shape::new(sizes).map_err(|error| refused(py, &error))?;
    let op = ReverseSubsequences::dense(axis, shape, lengths);
    moved(py, &Operation::Once(op.into()), &x, out, threads)
}

/// The first elements along an axis in the opposite order, with a length for every index of a batch axis.
///
/// Elements from the length on, the padding of a batch of sequences, stay where they are.
///
/// Parameters
/// ----------
/// x : array_like
///     Two axes or more, any dtype, but no object dtype and no MaskedArray.
/// lengths : array_like of integers
///     One axis, with ``x.shape[batch_axis]`` entries of 0 to ``x.shape[axis]``.
/// axis : int
///     The axis to reverse along; a negative one counts from the end.
/// batch_axis : int
///     The axis that the lengths are for; another one than `axis`.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` or `batch_axis` is out of range.
/// ValueError
///     If a length is negative or over the size of the axis, if there are more or fewer lengths than batches, if both axes
///     are the same, or if `out` does not fit.
/// TypeError
///     If `lengths` has no integer dtype, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ReverseSequence of ONNX, OpenVINO and TensorFlow. `reverse_subsequences` has a length for every position.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> batch = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [6, 7, 8, 9, 10]])
/// >>> trundle.reverse_sequence(batch, [3, 2, 5], axis=1, batch_axis=0)
/// array([[ 3,  2,  1,  0,  0],
///        [ 5,  4,  0,  0,  0],
///        [10,  9,  8,  7,  6]])
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
    let (sizes, lengths) = Integers::read(lengths)?;
    if sizes.len() != 1 {
        let message = format!("lengths must have 1 axis, not {}", sizes.len());
        return Err(PyValueError::new_err(message));
    }
    let op = ReverseSequence::new(axis, batch_axis, lengths.widened());
    moved(py, &Operation::Once(op.into()), &x, out, threads)
}

/// The elements of an array of integers, row-major.
enum Integers {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl Integers {
    /// The sizes and the elements of whatever numpy makes an array of.
    ///
    /// # Errors
    /// TypeError for elements that are no integers.
    fn read(lengths: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Integers)> {
        let array = as_array(lengths)?;
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        let sizes: Vec<usize> = array.getattr("shape")?.extract()?;
        // numpy makes floats of an empty sequence.
        let is_empty_sequence = sizes.contains(&0) && !lengths.hasattr("dtype")?;
        let integers = match kind.as_str() {
            "u" => Integers::Unsigned(values(&array)?),
            "i" => Integers::Signed(values(&array)?),
            _ if is_empty_sequence => Integers::Unsigned(Vec::new()),
            _ => {
                let message = format!("lengths must be integers, not {dtype}");
                return Err(PyTypeError::new_err(message));
            }
        };
        Ok((sizes, integers))
    }

    /// # Errors
    /// ValueError for a negative one.
    fn not_negative(self) -> PyResult<Arc<[u64]>> {
        let signed = match self {
            Integers::Unsigned(numbers) => return Ok(numbers.into()),
            Integers::Signed(numbers) => numbers,
        };
        if let Some((at, length)) = signed.iter().enumerate().find(|(_, length)| **length < 0) {
            let message = format!("lengths: length {length} at index {at} is negative");
            return Err(PyValueError::new_err(message));
        }
        Ok(signed.into_iter().map(i64::cast_unsigned).collect())
    }

    fn widened(self) -> Vec<i128> {
        match self {
            Integers::Unsigned(numbers) => numbers.into_iter().map(i128::from).collect(),
            Integers::Signed(numbers) => numbers.into_iter().map(i128::from).collect(),
        }
    }
}

/// Lengths as an array of numpy's.
fn as_array<'py>(lengths: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(array) = Array::of(lengths) {
        // Masked ones are refused.
        array.memory("lengths")?;
        return Ok(array.into_object());
    }
    let numpy = lengths.py().import("numpy")?;
    let only_shared = dlpack::is_foreign(lengths)? && !lengths.hasattr("__array__")?;
    numpy.call_method1(if only_shared { "from_dlpack" } else { "asarray" }, (lengths,))
}

/// The elements of an array as numbers of one type, which is not narrower than theirs.
fn values<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    // Row-major, aligned as the array itself may not be, and of no class that keeps two axes.
    let packed = array.call_method1("astype", (T::get_dtype(array.py()), "C", "unsafe", false))?;
    Ok(packed.call_method0("ravel")?.cast::<PyArray1<T>>()?.to_vec()?)
}
