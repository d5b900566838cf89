//! The axes in another order.

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

/// The axes of `x` in another order: axis i of the result is axis ``axes[i]`` of `x`.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// axes : sequence of ints
///     Each axis of `x` once; negative ones count from the end.
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
///     If `axes` is no permutation of the axes of `x`, or if `out` does not fit.
/// TypeError
///     If `axes` has anything but integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// The Array API's ``permute_dims``, and ``numpy.transpose`` with axes; the result is no view.
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

/// The axes of `x` in another order, as OpenVINO's Transpose-1 says: no order inverts them.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// order : sequence of ints
///     Axis i of the result is axis ``order[i]`` of `x`, each axis of `x` once, none of them negative. Empty, the default:
///     the axes are inverted.
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
///     If `order` is no permutation of 0 to x.ndim - 1, or if `out` does not fit.
/// TypeError
///     If `order` has anything but integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// `permute_dims` takes negative axes too.
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
            "order entry {axis} is out of range: Transpose-1 counts no axis from the end, and \
             permute_dims does"
        );
        return Err(axis_error(py, message));
    }
    moved(py, &Operation::of(Transpose::DECLARATION, [order]), &x, out, threads)
}

/// `m` turned by 90 degrees in the plane of two axes, from the first of them towards the second.
///
/// Parameters
/// ----------
/// m : array_like
///     Two axes or more, any dtype, but no object dtype and no MaskedArray.
/// k : int, optional
///     How many quarter turns; negative ones turn the other way. Of any size.
/// axes : sequence of two ints, optional
///     The axes of the plane; negative ones count from the end.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `m`, and its shape; if `k` is odd, with the sizes of both axes swapped
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `axes` has other than two axes, or one of them twice, or if `out` does not fit.
/// TypeError
///     If `k` or `axes` has anything but integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.rot90``; the result is no view.
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
    // Four turns are none, also of more turns than 64 bits count.
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

/// Axes of `a` at other positions; the others keep their order.
///
/// Parameters
/// ----------
/// a : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// source : int or sequence of ints
///     The axes to move, each once.
/// destination : int or sequence of ints
///     Where each of them goes, each position once.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `a`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If an axis is named twice, if `source` and `destination` have different numbers of entries, or if `out` does not
///     fit.
/// TypeError
///     If an axis is no integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.moveaxis``; the result is no view.
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
    let order = (0..).take(rank).filter_map(|place: i64| {
        match destination.iter().position(|to| *to == place) {
            Some(at) => Some(source[at]),
            None => rest.next(),
        }
    });
    moved(a.py(), &Operation::of(Transpose::DECLARATION, [order.collect()]), &x, out, threads)
}

/// Two axes of `a`, each in the place of the other.
///
/// Parameters
/// ----------
/// a : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// axis1, axis2 : int
///     The axes; negative ones count from the end.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `a`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `out` does not fit.
/// TypeError
///     If an axis is no integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.swapaxes``; the result is no view.
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
