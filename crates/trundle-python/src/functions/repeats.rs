//! Functions that repeat elements.

use std::iter::repeat_n;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trundle::ops::{Broadcast, Indices, Repeat, Take, Tile};

use super::axis_or_axes;
use crate::array::Class;
use crate::error::out_of_memory;
use crate::integer_array::{Bools, IntegerArray};
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Repeats each element of `x`, or each index of an axis.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// repeats : int or sequence of ints
///     The number of repetitions: one number for all, or one for each element or index.
/// axis : int, optional
///     The axis. A negative axis counts from the end. If None, `x` is flattened first, and the result is flat.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with the shape of `x` except along the axis
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// ValueError
///     If `repeats` is negative, has more than one axis or the wrong length, or if `out` does not fit.
/// TypeError
///     If `repeats` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.repeat`` and the Array API's ``repeat``.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.array([[1, 2], [3, 4]])
/// >>> trundle.repeat(x, 2)
/// array([1, 1, 2, 2, 3, 3, 4, 4])
/// >>> trundle.repeat(x, [1, 2], axis=0)
/// array([[1, 2],
///        [3, 4],
///        [3, 4]])
#[pyfunction]
#[pyo3(
    signature = (x, /, repeats, axis=None, *, out=None, threads=None, axes=None),
    text_signature = "(x, /, repeats, axis=None, *, out=None, threads=None)"
)]
pub(crate) fn repeat<'py>(
    x: &Bound<'py, PyAny>,
    repeats: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let axis = axis_or_axes("repeat", axis, axes)?;
    let (mut x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    x.memory.with_an_axis();
    let sizes = &x.memory.sizes;
    let along = axis.map(|axis| numbers::axis("axis", axis, sizes.len())).transpose()?;
    let size = match along.map(usize::try_from) {
        Some(Ok(axis)) => sizes[axis],
        _ => sizes.iter().product(),
    };
    let operation = repeated(repeats, along.unwrap_or(0), size.unsigned_abs())?;
    let operation = match along {
        None if sizes.len() != 1 => Operation::Flat(operation.into()),
        _ => operation,
    };
    moved(py, &operation, &x, out, threads)
}

/// Repeats the indices of an axis of `size`.
///
/// # Errors
/// TypeError if `repeats` is not of integers; ValueError if it is negative or has another length than 1 or
/// `size`.
fn repeated(repeats: &Bound<'_, PyAny>, axis: i64, size: usize) -> PyResult<Operation> {
    let all =
        |count: i64| Operation::of(Repeat::DECLARATION, [[count], [axis]].map(PerAxis::from_iter));
    match repeats.extract::<i64>() {
        Ok(count @ 0..) => return Ok(all(count)),
        Ok(count) => return Err(numbers::no_count("repeats", count)),
        Err(_) => {}
    }
    let no_integers = |message| PyTypeError::new_err(message);
    let repeats = IntegerArray::read_as("repeats", repeats, Bools::AsNumbers, no_integers)?;
    let (sizes, counts) = repeats.counts("repeats")?;
    if sizes.len() > 1 {
        let message = format!("repeats must have 1 axis or none, not {}", sizes.len());
        return Err(PyValueError::new_err(message));
    }
    match counts[..] {
        [count] => return Ok(all(count)),
        _ if counts.len() == size => {}
        _ => {
            let message = format!(
                "repeats must be one number or one for each of {size} elements, got {}",
                counts.len()
            );
            return Err(PyValueError::new_err(message));
        }
    }
    let total = counts.iter().try_fold(0usize, |total, count| {
        usize::try_from(*count).ok().and_then(|count| total.checked_add(count))
    });
    let total = total.unwrap_or(usize::MAX);
    let mut indices = Vec::<i64>::new();
    if indices.try_reserve_exact(total).is_err() {
        return Err(out_of_memory(total.saturating_mul(size_of::<i64>())));
    }
    for (index, count) in (0..).zip(counts) {
        indices.extend(repeat_n(index, usize::try_from(count).unwrap_or_default()));
    }
    Ok(Operation::once(Take::new(axis, Indices::list(indices))))
}

/// Repeats the whole array along its axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// reps : int or sequence of ints
///     The number of repetitions along each axis. If there are fewer numbers than axes, they apply to the last
///     axes. If there are more numbers than axes, `x` gets new leading axes of size 1.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with each size multiplied by its number in `reps`
///
/// Raises
/// ------
/// ValueError
///     If `reps` is negative, or if `out` does not fit.
/// TypeError
///     If `reps` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.tile`` and the Array API's ``tile``.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.tile(np.array([[1, 2], [3, 4]]), 2)
/// array([[1, 2, 1, 2],
///        [3, 4, 3, 4]])
/// >>> trundle.tile(np.array([0, 1]), (2, 2))
/// array([[0, 1, 0, 1],
///        [0, 1, 0, 1]])
#[pyfunction]
#[pyo3(signature = (x, /, reps, *, out=None, threads=None))]
pub(crate) fn tile<'py>(
    x: &Bound<'py, PyAny>,
    reps: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (mut x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let mut reps = numbers::counts("reps", reps)?;
    let rank = x.memory.sizes.len();
    x.memory.new_axes_in_front(reps.len().saturating_sub(rank));
    reps.insert_many(0, repeat_n(1, rank.saturating_sub(reps.len())));
    moved(py, &Operation::of(Tile::DECLARATION, [reps]), &x, out, threads)
}

/// Broadcasts `x` to a larger shape: repeats axes of size 1 and adds leading axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// shape : int or sequence of ints
///     The new sizes. The last sizes are for the axes of `x`; sizes before them are for new axes.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with this shape; for a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// ValueError
///     If `shape` has a negative size, if `x` does not broadcast to it, or if `out` does not fit.
/// TypeError
///     If `shape` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.broadcast_to`` and the Array API's ``broadcast_to``, but returns a copy in memory, not a view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.broadcast_to(np.array([1, 2, 3]), (2, 3))
/// array([[1, 2, 3],
///        [1, 2, 3]])
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, out=None, threads=None))]
pub(crate) fn broadcast_to<'py>(
    x: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    let sizes = numbers::counts("shape", shape)?;
    moved(py, &Operation::of(Broadcast::DECLARATION, [sizes]), &x, out, threads)
}

/// Returns all windows of a given size along axes of `x`. The elements of a window are in new axes at the end.
///
/// For windows along both axes of an array with two axes, ``out[i, j, a, b] == x[i + a, j + b]``.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// window_shape : int or sequence of ints
///     The size of a window along each of the axes.
/// axis : int or sequence of ints, optional
///     The axes. Negative axes count from the end. If an axis is repeated, the result has windows of windows. If
///     None, all axes.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`. Each of the axes is shorter by the window size less one; the axes of the
/// windows follow. For a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `window_shape` has a negative size, a size larger than its axis, or not one size for each axis; or if
///     `out` does not fit.
/// TypeError
///     If `window_shape` or `axis` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.lib.stride_tricks.sliding_window_view``, but returns a copy in memory of all windows, not a view.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.sliding_window_view(np.arange(5), 3)
/// array([[0, 1, 2],
///        [1, 2, 3],
///        [2, 3, 4]])
/// >>> trundle.sliding_window_view(np.zeros((4, 6)), (2, 3)).shape
/// (3, 4, 2, 3)
#[pyfunction]
#[pyo3(
    signature = (x, /, window_shape, axis=None, *, out=None, threads=None, axes=None),
    text_signature = "(x, /, window_shape, axis=None, *, out=None, threads=None)"
)]
pub(crate) fn sliding_window_view<'py>(
    x: &Bound<'py, PyAny>,
    window_shape: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let axis = axis_or_axes("sliding_window_view", axis, axes)?;
    let (mut x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    let window = numbers::counts("window_shape", window_shape)?;
    let rank = x.memory.sizes.len();
    let axes: PerAxis<i64> = match axis {
        None => (0..).take(rank).collect(),
        Some(axis) => numbers::any_axes("axis", axis, rank)?,
    };
    if window.len() != axes.len() {
        let message = format!(
            "window_shape must have one size for each axis, got {} for {}",
            window.len(),
            axes.len()
        );
        return Err(PyValueError::new_err(message));
    }
    // Copies a strided view of the windows. Unlike the operator, strides can also describe windows of windows and empty
    // windows.
    let memory = &mut x.memory;
    for (axis, size) in axes.into_iter().zip(window) {
        let at = usize::try_from(axis).unwrap_or_default();
        let Some(size) = isize::try_from(size).ok().filter(|size| *size <= memory.sizes[at]) else {
            let message = format!(
                "window_shape: a window of {size} along axis {axis} is larger than the axis, which has size {}",
                memory.sizes[at]
            );
            return Err(PyValueError::new_err(message));
        };
        memory.sizes[at] -= size - 1;
        memory.sizes.push(size);
        memory.strides.push(memory.strides[at]);
    }
    moved(py, &Operation::Copy, &x, out, threads)
}
