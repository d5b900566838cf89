//! Functions that gather and scatter elements at indices.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use trundle::ops::{IndexMode, Operand, PutAlongAxis, Take, TakeAlongAxis};
use trundle::{Program, TensorId};

use super::{AxisOrNone, axis_or_axes};
use crate::array::Class;
use crate::assembled::assembled;
use crate::direct_gather::DirectGather;
use crate::error::axis_out_of_range;
use crate::integer_array::{Bools, IntegerArray};
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Takes the elements of `x` at indices along an axis. In the result, the axes of `indices` replace this axis.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// indices : array_like of integers
///     Any shape. If it is a scalar, the result does not have the axis. Indices from -size to -1 count from the end.
/// axis : int, optional
///     The axis. A negative axis counts from the end. If None, `x` is flattened first.
/// mode : {'raise', 'wrap', 'clip'}, optional
///     What to do with an index out of range: raise IndexError, take the index modulo the size, or use the
///     nearest index (0 for all negative indices).
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with the shape ``x.shape[:axis] + indices.shape + x.shape[axis + 1:]``
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// IndexError
///     If an index is out of range in mode 'raise', or, in any mode, if the axis has no elements but there are
///     indices.
/// ValueError
///     If `mode` is unknown, or if `out` does not fit.
/// TypeError
///     If the dtype of `indices` is not integer or bool, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.take`` and the Array API's ``take``. Always returns an array, also for one element.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.array([[10, 11, 12], [20, 21, 22]])
/// >>> trundle.take(x, [2, 0, -1, 2], axis=1)
/// array([[12, 10, 12, 12],
///        [22, 20, 22, 22]])
/// >>> trundle.take(x, 1, axis=0)
/// array([20, 21, 22])
/// >>> trundle.take(x, [[0, 5], [7, -9]], mode="wrap")
/// array([[10, 22],
///        [11, 20]])
#[pyfunction]
#[pyo3(
    signature = (x, indices, /, axis=None, *, mode=None, out=None, threads=None, axes=None),
    text_signature = "(x, indices, /, axis=None, *, mode='raise', out=None, threads=None)"
)]
pub(crate) fn take<'py>(
    x: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    mode: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let axis = axis_or_axes("take", axis, axes)?;
    let (mut x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    x.memory.with_an_axis();
    let rank = x.memory.sizes.len();
    let along = axis.map(|axis| numbers::axis("axis", axis, rank)).transpose()?;
    let mode = index_mode(mode)?;
    if let Some(axis) = along.or((rank == 1).then_some(0))
        && let Some(direct) = DirectGather::of(&x, axis, indices)
        && let Some(taken) = direct.take(py, mode, out, threads)
    {
        return taken;
    }
    let no_integers = |message| PyTypeError::new_err(message);
    let indices = IntegerArray::read_as("indices", indices, Bools::AsNumbers, no_integers)?;
    let op = Take::new(along.unwrap_or(0), indices.indices(py, "indices")?).with_mode(mode);
    let operation = match along {
        None if rank != 1 => Operation::Flat(Operation::once(op).into()),
        _ => Operation::once(op),
    };
    moved(py, &operation, &x, out, threads)
}

/// Parses the mode.
///
/// # Errors
/// ValueError for an unknown mode, TypeError if it is not a str.
fn index_mode(mode: Option<&Bound<'_, PyAny>>) -> PyResult<IndexMode> {
    let Some(mode) = mode else { return Ok(IndexMode::Raise) };
    let Ok(word) = mode.cast::<PyString>() else {
        let kind = mode.get_type().name()?;
        return Err(PyTypeError::new_err(format!("mode must be a str, not {kind}")));
    };
    let word = word.to_str()?;
    let mut modes = (0..).map_while(IndexMode::of_number);
    modes.find(|mode| mode.to_string() == word).ok_or_else(|| {
        let message = format!("mode must be one of 'raise', 'wrap' and 'clip', not {word:?}");
        PyValueError::new_err(message)
    })
}

/// Takes one element of `x` along an axis for each position of `indices`.
///
/// For axis 1 of an array with three axes, ``out[i, j, k] == x[i, indices[i, j, k], k]``.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// indices : array_like of integers
///     An array with as many axes as `x`. It is broadcast with `x` along all axes except `axis`. Indices from -size
///     to -1 count from the end.
/// axis : int, optional
///     The axis. A negative axis counts from the end. If None, `x` is flattened first, and `indices` must have one
///     axis.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with the broadcast shape of both, but the size of `indices` along `axis`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// IndexError
///     If an index is out of range, if the dtype of `indices` is not integer, or if its shape does not
///     broadcast.
/// ValueError
///     If `indices` does not have as many axes as `x`, or if `out` does not fit.
/// TypeError
///     For a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.take_along_axis`` and the Array API's ``take_along_axis``. With the indices that ``argsort`` returns, it
/// sorts an array.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.array([[30, 10, 20], [5, 6, 4]])
/// >>> trundle.take_along_axis(x, np.argsort(x, axis=1), axis=1)
/// array([[10, 20, 30],
///        [ 4,  5,  6]])
/// >>> trundle.take_along_axis(x, [[0, 1, 0]], axis=0)
/// array([[30,  6, 20]])
#[pyfunction]
#[pyo3(
    signature = (x, indices, /, axis=AxisOrNone::Default, *, out=None, threads=None, axes=None),
    text_signature = "(x, indices, /, axis=-1, *, out=None, threads=None)"
)]
pub(crate) fn take_along_axis<'py>(
    x: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    axis: AxisOrNone<'py>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    // The default is the last axis. None reads `x` as if it were flat.
    let given = match axis {
        AxisOrNone::Default => axes.cloned(),
        AxisOrNone::Given(axis) if axis.is_none() && axes.is_some() => axes.cloned(),
        AxisOrNone::Given(axis) => axis_or_axes("take_along_axis", Some(axis), axes.cloned())?,
    };
    let is_flat = given.as_ref().is_some_and(PyAnyMethods::is_none);
    let class = if is_flat { Class::Plain } else { Class::Kept };
    let (mut x, threads) = (Tensor::to_read("x", x, class)?, numbers::threads(threads)?);
    if is_flat {
        x.memory.with_an_axis();
    }
    let sizes = &x.memory.sizes;
    let rank = sizes.len();
    let axis = match given {
        _ if is_flat => 0,
        Some(axis) => numbers::axis("axis", &axis, rank)?,
        None if rank == 0 => return Err(axis_out_of_range(py, "axis", -1, rank)),
        None => rank.cast_signed() as i64 - 1,
    };
    if !is_flat
        && let Some(direct) = DirectGather::of(&x, axis, indices)
        && let Some(taken) = direct.take_along(py, out, threads)
    {
        return taken;
    }
    let no_integers = |message| PyIndexError::new_err(message);
    let indices = IntegerArray::read_as("indices", indices, Bools::Refused, no_integers)?;
    match is_flat {
        true => check_rank(indices.sizes(), 1, "axis=None takes `x` as if it were flat")?,
        false => check_broadcast(sizes, indices.sizes(), axis)?,
    }
    let op = Operation::once(TakeAlongAxis::new(axis, indices.indices(py, "indices")?));
    let operation = if is_flat && rank != 1 { Operation::Flat(op.into()) } else { op };
    moved(py, &operation, &x, out, threads)
}

/// Writes `values` over `x` along an axis, each value at its index.
///
/// For axis 1 of an array with three axes, ``x[i, indices[i, j, k], k] = values[i, j, k]``.
///
/// Parameters
/// ----------
/// x : array
///     Any shape and dtype, except object dtypes and MaskedArray. Modified in place unless `out` is given.
/// indices : array_like of integers
///     An array with as many axes as `x`. It is broadcast with `x` along all axes except `axis`. Indices from -size to
///     -1 count from the end. If several values have the same destination, the last one wins.
/// values : array_like
///     The values to write, with the dtype of `x`. They are broadcast to the shape of the indices.
/// axis : int
///     The axis. A negative axis counts from the end.
/// out
///     An array like `x` for the result. If given, it is returned, and `x` is not modified.
/// threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// None, or `out` if it is given
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// IndexError
///     If an index is out of range, or if `indices` does not broadcast or is not of an integer dtype.
/// ValueError
///     If `indices` does not have as many axes as `x`, if `values` does not broadcast, if `x` is read-only, or if `out`
///     does not fit.
/// TypeError
///     If `values` has another kind or dtype, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.put_along_axis``. Reads all arguments before writing.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.array([[10, 30, 20], [60, 40, 50]])
/// >>> trundle.put_along_axis(x, np.argmax(x, axis=1, keepdims=True), 99, axis=1)
/// >>> x
/// array([[10, 99, 20],
///        [99, 40, 50]])
#[pyfunction]
#[pyo3(signature = (x, indices, values, /, axis, *, out=None, threads=None))]
pub(crate) fn put_along_axis<'py>(
    x: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    axis: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = x.py();
    let (read, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    if out.is_none() {
        Tensor::to_write("x", x, &read)?;
    }
    let sizes = read.memory.sizes.clone();
    let axis = numbers::axis("axis", axis, sizes.len())?;
    let values = read.values_like(py, "values", values)?;
    if let Some(direct) = DirectGather::of(&read, axis, indices) {
        // `written` keeps the memory of `target` alive.
        let written = out.map(|out| Tensor::to_write("out", out, &read)).transpose()?;
        let target = written.as_ref().map_or(&read.memory, |written| &written.memory);
        if let Some(done) = direct.put_along(py, &values.memory, target, threads) {
            return done.map(|()| out.cloned());
        }
    }
    let no_integers = |message| PyIndexError::new_err(message);
    let indices = IntegerArray::read_as("indices", indices, Bools::Refused, no_integers)?;
    check_broadcast(&sizes, indices.sizes(), axis)?;
    let indices = indices.indices(py, "indices")?;
    let operands = [Operand::Previous, Operand::Named("values".to_owned())];
    let put = PutAlongAxis::new(operands, axis, indices);
    let program =
        |program: &mut Program, given: &[TensorId]| put.add_to(program, [given[0], given[1]]);
    assembled(py, &[read, values], program, Some(out.unwrap_or(x)), threads)?;
    Ok(out.cloned())
}

/// Checks the number of axes.
///
/// # Errors
/// ValueError for another number of axes.
fn check_rank(indices: &[usize], rank: usize, because: &str) -> PyResult<()> {
    if indices.len() == rank {
        return Ok(());
    }
    let axes = if rank == 1 { "axis" } else { "axes" };
    let message = format!("indices must have {rank} {axes}, not {}: {because}", indices.len());
    Err(PyValueError::new_err(message))
}

/// Checks that `indices` broadcasts with `sizes` along all axes except `axis`.
///
/// # Errors
/// As numpy: ValueError for another number of axes, IndexError for sizes that do not broadcast.
fn check_broadcast(sizes: &[isize], indices: &[usize], axis: i64) -> PyResult<()> {
    check_rank(indices, sizes.len(), "as many as `x` has")?;
    for (at, (size, other)) in (0..).zip(sizes.iter().zip(indices)) {
        let size = size.unsigned_abs();
        if at != axis && size != *other && size != 1 && *other != 1 {
            return Err(PyIndexError::new_err(format!(
                "indices of shape {indices:?} do not broadcast with x of shape {sizes:?}: sizes {other} and \
                 {size} along axis {at}"
            )));
        }
    }
    Ok(())
}
