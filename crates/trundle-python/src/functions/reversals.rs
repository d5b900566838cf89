//! Functions that reverse elements.

use pyo3::prelude::*;
use trundle::ops::Flip;

use super::{axis_or_axes, required};
use crate::array::Class;
use crate::integer_array::IntegerArray;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Reverses the elements of `x` along axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// axis : int or sequence of ints, optional
///     The axes, each once. Negative axes count from the end. If None, all axes.
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
///     If an axis is repeated, or if `out` does not fit.
/// TypeError
///     If `axis` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.flip`` and the Array API's ``flip``, but returns a copy, not a view.
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
#[pyo3(
    signature = (x, /, axis=None, *, out=None, threads=None, axes=None),
    text_signature = "(x, /, axis=None, *, out=None, threads=None)"
)]
pub(crate) fn flip<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis_or_axes("flip", axis, axes)?;
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    let axes = match axis {
        None => (0..).take(rank).collect(),
        Some(axis) => numbers::axes("axis", axis, rank)?,
    };
    moved(py, &Operation::of(Flip::DECLARATION, [axes]), &x, out, threads)
}

/// Reverses the first elements of each row along an axis. Each row has its own length.
///
/// A row consists of the elements with the same indices on all other axes. The other elements of a row are unchanged.
///
/// Parameters
/// ----------
/// x : array_like
///     At least one axis, and any dtype, except object dtypes and MaskedArray.
/// lengths : array_like of integers
///     An array with the shape of `x`, but size 1 along `axis`. A length greater than ``x.shape[axis]`` reverses the
///     whole row. The lengths 0 and 1 reverse nothing.
/// axis : int
///     The axis along which elements are reversed. A negative axis counts from the end.
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
///     If the dtype of `lengths` is not integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As DirectML's ``DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC``. In contrast, `reverse_sequence` takes one length for each
/// index of a batch axis, and raises an error for lengths that are too large.
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
#[pyo3(
    signature = (x, /, lengths, axis=None, *, out=None, threads=None, axes=None),
    text_signature = "(x, /, lengths, axis, *, out=None, threads=None)"
)]
pub(crate) fn reverse_subsequences<'py>(
    x: &Bound<'py, PyAny>,
    lengths: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let axis = axis_or_axes("reverse_subsequences", axis, axes)?;
    let axis = required("reverse_subsequences", "axis", axis)?;
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let axis = numbers::axis("axis", axis, x.memory.sizes.len())?;
    let op = IntegerArray::read("lengths", lengths)?.subsequences(py, "lengths", axis)?;
    moved(py, &Operation::once(op), &x, out, threads)
}

/// Reverses the first elements along an axis. There is one length for each index of a batch axis.
///
/// The other elements, such as the padding of sequences in a batch, are unchanged.
///
/// Parameters
/// ----------
/// x : array_like
///     At least two axes, and any dtype, except object dtypes and MaskedArray.
/// lengths : array_like of integers
///     An array with one axis: ``x.shape[batch_axis]`` lengths, each from 0 to ``x.shape[axis]``.
/// axis : int
///     The axis along which elements are reversed. A negative axis counts from the end.
/// batch_axis : int
///     The axis with one length for each index. It must be different from `axis`.
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
///     If a length is negative or greater than the size of the axis, if the number of lengths is wrong, if both
///     axes are the same, or if `out` does not fit.
/// TypeError
///     If the dtype of `lengths` is not integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ReverseSequence of ONNX, OpenVINO and TensorFlow. In contrast, `reverse_subsequences` takes a length for each
/// row.
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
#[pyo3(
    signature = (x, /, lengths, axis=None, batch_axis=None, *, out=None, threads=None, axes=None),
    text_signature = "(x, /, lengths, axis, batch_axis, *, out=None, threads=None)"
)]
pub(crate) fn reverse_sequence<'py>(
    x: &Bound<'py, PyAny>,
    lengths: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    batch_axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let axis = axis_or_axes("reverse_sequence", axis, axes)?;
    let axis = required("reverse_sequence", "axis", axis)?;
    let batch_axis = required("reverse_sequence", "batch_axis", batch_axis)?;
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    let axis = numbers::axis("axis", axis, rank)?;
    let batch_axis = numbers::axis("batch_axis", batch_axis, rank)?;
    let op = IntegerArray::read("lengths", lengths)?.sequence("lengths", axis, batch_axis)?;
    moved(py, &Operation::once(op), &x, out, threads)
}
