//! Elements that are there several times.

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

/// Each element of `x`, or each index of an axis, several times in a row.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// repeats : int or sequence of ints
///     How often each is there; a number for all of them, or one for each.
/// axis : int, optional
///     The axis; a negative one counts from the end. None: `x` is taken as if it were flat, and the result is.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, dtype and shape of `x`, but for the axis
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// ValueError
///     If `repeats` has a negative number, more than one axis, or not as many numbers as there are indices; or if `out`
///     does not fit.
/// TypeError
///     If `repeats` has anything but integers, or for a dtype that holds objects.
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

/// Each index of an axis of `size` as often as `repeats` says, which is for all of them or for each.
///
/// # Errors
/// TypeError for what are no integers; ValueError for negative ones, and other than one or `size` of them.
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
                "repeats must be one number or as many as are repeated: {} for {size}",
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

/// `x` several times along each of its axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// reps : int or sequence of ints
///     How often `x` stands along each axis, of the last axes if there are fewer numbers than axes. If there are more,
///     `x` has new axes of size 1 in front.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, each size as often as `reps` says
///
/// Raises
/// ------
/// ValueError
///     If `reps` has a negative number, or if `out` does not fit.
/// TypeError
///     If `reps` has anything but integers, or for a dtype that holds objects.
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

/// `x` in a larger shape: axes of size 1 give their only index for all, and new axes come in front.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// shape : int or sequence of ints
///     The sizes, held against those of `x` from the last one on.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with this shape; of a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// ValueError
///     If `shape` has a negative size, if `x` does not broadcast to it, or if `out` does not fit.
/// TypeError
///     If `shape` has anything but integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.broadcast_to`` and the Array API's ``broadcast_to``; the result is no view, and fills memory.
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

/// Every window of a size along axes of `x`, as new axes at the end.
///
/// ``out[i, j, a, b] == x[i + a, j + b]`` for windows along both of two axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// window_shape : int or sequence of ints
///     The size of a window along each of the axes.
/// axis : int or sequence of ints, optional
///     The axes; negative ones count from the end, and windows of an axis that is named twice are windows of windows.
///     None: all axes.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, of whose axes each is shorter by the size of a window less one, followed by the
/// axes of a window; of a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If an axis is out of range.
/// ValueError
///     If `window_shape` has a negative size, one that is larger than its axis, or not one for each axis; or if `out`
///     does not fit.
/// TypeError
///     If `window_shape` or `axis` has anything but integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.lib.stride_tricks.sliding_window_view``; the result is no view, and fills as much memory as all windows do.
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
    // A view of the windows is copied as any other: strides say all of it, of windows of windows and of those
    // without elements too, which are no operator's.
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
