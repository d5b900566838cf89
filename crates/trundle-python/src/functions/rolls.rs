//! Elements shifted along axes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::Class;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

#[pyfunction]
#[pyo3(signature = (x, /, shift, *, axis=None, out=None, threads=None))]
pub(crate) fn roll<'py>(
    x: &Bound<'py, PyAny>,
    shift: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let operation = match axis {
        None => flat(shift, &x.memory.sizes)?,
        Some(axis) => along(shift, axis, &x.memory.sizes)?,
    };
    moved(shift.py(), &operation, &x, out, threads)
}

/// All elements as one axis, by the sum of the shifts.
fn flat(shift: &Bound<'_, PyAny>, sizes: &[isize]) -> PyResult<Operation> {
    let elements = sizes.iter().fold(1isize, |all, size| all.saturating_mul(*size)).max(1);
    let shifts = numbers::shifts(shift, |_| elements)?;
    let sum: i128 = shifts.iter().copied().map(i128::from).sum();
    let shift = sum.rem_euclid(elements as i128) as i64;
    Ok(match sizes.len() {
        0 => Operation::Copy,
        1 => Operation::Roll { shifts: PerAxis::from_slice(&[shift]), axes: PerAxis::from_slice(&[0]) },
        _ => Operation::RollFlat { shift },
    })
}

/// Shifts and axes beside each other; a single one is for all of the others.
fn along(shift: &Bound<'_, PyAny>, axis: &Bound<'_, PyAny>, sizes: &[isize]) -> PyResult<Operation> {
    let mut axes = numbers::any_axes("axis", axis, sizes.len())?;
    let size = |axis: i64| usize::try_from(axis).map_or(1, |axis| sizes[axis]);
    // A shift beyond 64 bits is taken along its axis, so one that is for several is read for each.
    let mut shifts = numbers::shifts(shift, |at| axes.get(at).or(axes.last()).map_or(1, |axis| size(*axis)))?;
    match (shifts.len(), axes.len()) {
        (1, _) => {
            let along = |axis: &i64| Ok(numbers::shifts(shift, |_| size(*axis))?[0]);
            shifts = axes.iter().map(along).collect::<PyResult<_>>()?;
        }
        (all, 1) => axes = PerAxis::from_elem(axes[0], all),
        (shifts, axes) if shifts == axes => {}
        (shifts, axes) => {
            let message =
                format!("shift and axis do not fit each other: {shifts} shifts, {axes} axes");
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(Operation::Roll { shifts, axes })
}

#[pyfunction]
#[pyo3(signature = (x, axes=None, *, out=None, threads=None))]
pub(crate) fn fftshift<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    by_half(x, axes, out, threads, |size| size / 2)
}

#[pyfunction]
#[pyo3(signature = (x, axes=None, *, out=None, threads=None))]
pub(crate) fn ifftshift<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
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
    moved(py, &Operation::Roll { shifts, axes }, &x, out, threads)
}
