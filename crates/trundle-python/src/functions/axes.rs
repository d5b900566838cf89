//! Functions that permute axes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trundle::ops::{Rot90, Transpose};

use super::{axis_or_axes, required};
use crate::array::Class;
use crate::error::axis_error;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Permutes the axes of `x`: axis i of the result is axis ``axes[i]`` of `x`.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// axes : sequence of ints
///     The axes of `x` in their new order, each once. Negative axes count from the end.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with the shape ``[x.shape[a] for a in axes]``
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `axes` is not a permutation of the axes of `x`, or if `out` does not fit.
/// TypeError
///     If `axes` are not integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// The Array API's ``permute_dims``, and ``numpy.transpose`` with axes, but returns a copy, not a view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> image = np.arange(12).reshape(2, 2, 3)
/// >>> trundle.permute_dims(image, (2, 0, 1))
/// array([[[ 0,  3],
///         [ 6,  9]],
/// <BLANKLINE>
///        [[ 1,  4],
///         [ 7, 10]],
/// <BLANKLINE>
///        [[ 2,  5],
///         [ 8, 11]]])
/// >>> trundle.permute_dims(image, (-1, 0, 1)).flags.c_contiguous
/// True
#[pyfunction]
#[pyo3(
    signature = (x, /, axes=None, *, out=None, threads=None, axis=None),
    text_signature = "(x, /, axes, *, out=None, threads=None)"
)]
pub(crate) fn permute_dims<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axis: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axis_or_axes("permute_dims", axis, axes)?;
    let axes = required("permute_dims", "axes", axes)?;
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let order = numbers::all_axes("axes", axes, x.memory.sizes.len())?;
    moved(axes.py(), &Operation::of(Transpose::DECLARATION, [order]), &x, out, threads)
}

/// Permutes the axes of `x`, or reverses their order if `order` is empty, as OpenVINO's Transpose-1.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// order : sequence of ints
///     Axis i of the result is axis ``order[i]`` of `x`. Each axis of `x` must occur once, without negative numbers.
///     If empty (the default), the order of the axes is reversed.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with the shape ``[x.shape[a] for a in order]``
///
/// Raises
/// ------
/// ValueError
///     If `order` is not a permutation of 0 to x.ndim - 1, or if `out` does not fit.
/// TypeError
///     If `order` has entries that are not integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As OpenVINO's Transpose-1, and ``numpy.transpose``, but returns a copy, not a view. `permute_dims` accepts negative
/// axes.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.arange(6).reshape(2, 3)
/// >>> trundle.transpose(x)
/// array([[0, 3],
///        [1, 4],
///        [2, 5]])
/// >>> trundle.transpose(x, (0, 1))
/// array([[0, 1, 2],
///        [3, 4, 5]])
#[pyfunction]
#[pyo3(
    signature = (x, /, order=None, *, out=None, threads=None),
    text_signature = "(x, /, order=(), *, out=None, threads=None)"
)]
pub(crate) fn transpose<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    order: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let order = order.map(numbers::order).transpose()?.unwrap_or_default();
    if let Some(axis) = order.iter().find(|axis| **axis < 0) {
        let message = format!(
            "order entry {axis} is out of range: Transpose-1 does not count axes from the end; permute_dims does"
        );
        return Err(axis_error(py, message));
    }
    moved(py, &Operation::of(Transpose::DECLARATION, [order]), &x, out, threads)
}

/// Rotates `m` by 90 degrees in the plane of two axes, from the first towards the second.
///
/// Parameters
/// ----------
/// m : array_like
///     At least two axes, and any dtype, except object dtypes and MaskedArray.
/// k : int, optional
///     The number of rotations, of any size. A negative number rotates the other way.
/// axes : sequence of two ints, optional
///     The two axes of the plane. Negative axes count from the end.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, dtype and shape of `m`; if `k` is odd, with the sizes of the two axes swapped
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `axes` is not two different axes, or if `out` does not fit.
/// TypeError
///     If `k` or `axes` are not integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.rot90``, but returns a copy, not a view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> image = np.array([[1, 2, 3], [4, 5, 6]])
/// >>> trundle.rot90(image)
/// array([[3, 6],
///        [2, 5],
///        [1, 4]])
/// >>> trundle.rot90(image, k=-1)
/// array([[4, 1],
///        [5, 2],
///        [6, 3]])
#[pyfunction]
#[pyo3(
    signature = (m, k=None, axes=None, *, out=None, threads=None, axis=None),
    text_signature = "(m, k=1, axes=(0, 1), *, out=None, threads=None)"
)]
pub(crate) fn rot90<'py>(
    m: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axis: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axis_or_axes("rot90", axis, axes)?;
    let (x, threads) = (Tensor::to_read("m", m, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    // Python reduces k modulo 4, because k may have more than 64 bits.
    let turns = |k| numbers::one("k", k, || k.rem(4)?.extract());
    let k = k.map_or(Ok(1), turns)?.rem_euclid(4);
    let axes = match axes {
        Some(axes) => numbers::axes("axes", axes, rank)?,
        None => [0, 1].into_iter().collect(),
    };
    if axes.len() != 2 {
        let message = format!("axes must be two axes, got {}", axes.len());
        return Err(PyValueError::new_err(message));
    }
    let k = PerAxis::from_slice(&[k]);
    moved(m.py(), &Operation::of(Rot90::DECLARATION, [k, axes]), &x, out, threads)
}

/// Moves axes of `a` to other positions; the other axes keep their order.
///
/// Parameters
/// ----------
/// a : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// source : int or sequence of ints
///     The axes to move, each once.
/// destination : int or sequence of ints
///     The new positions of these axes, each position once.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `a`, with the axes at their new positions
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If an axis is repeated, if `source` and `destination` have different lengths, or if `out` does not fit.
/// TypeError
///     If an axis is not an integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.moveaxis``, but returns a copy, not a view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.zeros((3, 4, 5))
/// >>> trundle.moveaxis(x, 0, -1).shape
/// (4, 5, 3)
/// >>> trundle.moveaxis(x, [0, 1], [-1, -2]).shape
/// (5, 4, 3)
#[pyfunction]
#[pyo3(signature = (a, source, destination, *, out=None, threads=None))]
pub(crate) fn moveaxis<'py>(
    a: &Bound<'py, PyAny>,
    source: &Bound<'py, PyAny>,
    destination: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, threads) = (Tensor::to_read("a", a, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    let source = numbers::axes("source", source, rank)?;
    let destination = numbers::axes("destination", destination, rank)?;
    if source.len() != destination.len() {
        let message = "source and destination must have the same number of elements";
        return Err(PyValueError::new_err(message));
    }
    let mut rest = (0..).take(rank).filter(|axis| !source.contains(axis));
    let order = (0..).take(rank).filter_map(|axis: i64| {
        match destination.iter().position(|to| *to == axis) {
            Some(at) => Some(source[at]),
            None => rest.next(),
        }
    });
    moved(a.py(), &Operation::of(Transpose::DECLARATION, [order.collect()]), &x, out, threads)
}

/// Swaps two axes of `a`.
///
/// Parameters
/// ----------
/// a : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// axis1, axis2 : int
///     The axes. Negative axes count from the end.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `a`, with the sizes of the two axes swapped
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `out` does not fit.
/// TypeError
///     If an axis is not an integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.swapaxes``, but returns a copy, not a view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.swapaxes(np.array([[1, 2, 3]]), 0, 1)
/// array([[1],
///        [2],
///        [3]])
#[pyfunction]
#[pyo3(signature = (a, axis1, axis2, *, out=None, threads=None))]
pub(crate) fn swapaxes<'py>(
    a: &Bound<'py, PyAny>,
    axis1: &Bound<'py, PyAny>,
    axis2: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, threads) = (Tensor::to_read("a", a, Class::Kept)?, numbers::threads(threads)?);
    let rank = x.memory.sizes.len();
    let one = numbers::axis("axis1", axis1, rank)?;
    let other = numbers::axis("axis2", axis2, rank)?;
    let order: PerAxis<i64> = (0..)
        .take(rank)
        .map(|axis| match axis {
            _ if axis == one => other,
            _ if axis == other => one,
            _ => axis,
        })
        .collect();
    moved(a.py(), &Operation::of(Transpose::DECLARATION, [order]), &x, out, threads)
}
