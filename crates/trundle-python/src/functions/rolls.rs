//! Functions that shift elements along axes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trundle::ops::Roll;

use super::axis_or_axes;
use crate::array::Class;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Shifts the elements of `x` along axes, with wrap-around.
///
/// ``out[(i + shift) % size] == x[i]`` along each axis.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// shift : int or sequence of ints
///     The shifts, of any size. Positive shifts are towards larger indices.
/// axis : int or sequence of ints, optional
///     The axes along which elements are shifted, from -x.ndim to x.ndim - 1. If an axis is repeated, its shifts are
///     added. A single shift applies to all axes, and a single axis gets all shifts. If None, `x` is shifted as if it
///     were flat, and keeps its shape.
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
///     If `shift` and `axis` have different lengths, and neither length is 1, or if `out` does not fit.
/// TypeError
///     If `shift` or `axis` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.roll``, the Array API's ``roll`` and OpenVINO's Roll-7, but shifts must not be floats.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.arange(1, 13).reshape(4, 3)
/// >>> trundle.roll(x, 1, axis=0)
/// array([[10, 11, 12],
///        [ 1,  2,  3],
///        [ 4,  5,  6],
///        [ 7,  8,  9]])
/// >>> trundle.roll(x, (-1, 2), axis=(0, 1))
/// array([[ 5,  6,  4],
///        [ 8,  9,  7],
///        [11, 12, 10],
///        [ 2,  3,  1]])
#[pyfunction]
#[pyo3(
    signature = (x, /, shift, axis=None, *, out=None, threads=None, axes=None),
    text_signature = "(x, /, shift, axis=None, *, out=None, threads=None)"
)]
pub(crate) fn roll<'py>(
    x: &Bound<'py, PyAny>,
    shift: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis_or_axes("roll", axis, axes)?;
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let operation = match axis {
        None => flat(shift, &x.memory.sizes)?,
        Some(axis) => along(shift, axis, &x.memory.sizes)?,
    };
    moved(shift.py(), &operation, &x, out, threads)
}

/// Rolls all elements as if the array had one axis, by the sum of the shifts.
fn flat(shift: &Bound<'_, PyAny>, sizes: &[isize]) -> PyResult<Operation> {
    let elements = sizes.iter().fold(1isize, |all, size| all.saturating_mul(*size)).max(1);
    let mut sum = 0;
    for shift in numbers::shifts(shift)? {
        sum += i128::from(shift.along(elements)?);
    }
    let shift = sum.rem_euclid(elements as i128) as i64;
    Ok(match sizes.len() {
        0 => Operation::Copy,
        1 => Operation::of(Roll::DECLARATION, [[shift], [0]].map(PerAxis::from_iter)),
        _ => Operation::RollFlat { shift },
    })
}

/// Pairs shifts and axes. A single one is paired with all of the others.
fn along(
    shift: &Bound<'_, PyAny>,
    axis: &Bound<'_, PyAny>,
    sizes: &[isize],
) -> PyResult<Operation> {
    let mut axes = numbers::any_axes("axis", axis, sizes.len())?;
    let shifts = numbers::shifts(shift)?;
    match (shifts.len(), axes.len()) {
        (all, 1) => axes = PerAxis::from_elem(axes[0], all),
        (shifts, axes) if shifts == axes || shifts == 1 => {}
        (shifts, axes) => {
            let message =
                format!("shift and axis must have the same length: got {shifts} and {axes}");
            return Err(PyValueError::new_err(message));
        }
    }
    let size = |axis: i64| usize::try_from(axis).map_or(1, |axis| sizes[axis]);
    let beside = shifts.iter().cycle().zip(&axes);
    let shifts = beside.map(|(shift, axis)| shift.along(size(*axis))).collect::<PyResult<_>>()?;
    Ok(Operation::of(Roll::DECLARATION, [shifts, axes]))
}

/// Moves the zero frequency of a spectrum to the centre: rolls each axis by half its size, rounded down.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// axes : int or sequence of ints, optional
///     The axes. Negative axes count from the end. If None, all axes.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`; for a subclass of numpy.ndarray, the base class
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
/// As ``numpy.fft.fftshift`` and the Array API's ``fft.fftshift``. `ifftshift` is the inverse, also for odd
/// sizes.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.fftshift(np.array([0, 1, 2, -2, -1]))
/// array([-2, -1,  0,  1,  2])
#[pyfunction]
#[pyo3(
    signature = (x, axes=None, *, out=None, threads=None, axis=None),
    text_signature = "(x, axes=None, *, out=None, threads=None)"
)]
pub(crate) fn fftshift<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axis: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axis_or_axes("fftshift", axis, axes)?;
    by_half(x, axes, out, threads, |size| size / 2)
}

/// Inverts `fftshift`: rolls each axis back by half its size, rounded down.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// axes : int or sequence of ints, optional
///     The axes. Negative axes count from the end. If None, all axes.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`; for a subclass of numpy.ndarray, the base class
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
/// As ``numpy.fft.ifftshift`` and the Array API's ``fft.ifftshift``.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.ifftshift(np.array([-2, -1, 0, 1, 2]))
/// array([ 0,  1,  2, -2, -1])
#[pyfunction]
#[pyo3(
    signature = (x, axes=None, *, out=None, threads=None, axis=None),
    text_signature = "(x, axes=None, *, out=None, threads=None)"
)]
pub(crate) fn ifftshift<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axis: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axis_or_axes("ifftshift", axis, axes)?;
    by_half(x, axes, out, threads, |size| -(size / 2))
}

fn by_half<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    half: fn(isize) -> isize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    let sizes = &x.memory.sizes;
    let axes: PerAxis<i64> = match axes {
        None => (0..).take(sizes.len()).collect(),
        Some(axes) => numbers::any_axes("axes", axes, sizes.len())?,
    };
    let size = |axis: &i64| sizes[usize::try_from(*axis).unwrap_or_default()];
    let shifts = axes.iter().map(|axis| half(size(axis)) as i64).collect();
    moved(py, &Operation::of(Roll::DECLARATION, [shifts, axes]), &x, out, threads)
}
