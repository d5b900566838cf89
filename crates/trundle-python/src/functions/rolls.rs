//! Elements shifted along axes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::Class;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers::{self, OneOrMany};
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
    let shifts = OneOrMany::of("shift", shift)?;
    let operation = match axis {
        None => flat(&shifts, &x.memory.sizes)?,
        Some(axis) => along(&shifts, &OneOrMany::of("axis", axis)?, &x.memory.sizes)?,
    };
    moved(shift.py(), &operation, &x, out, threads)
}

/// All elements as one axis, by the sum of the shifts.
fn flat(shifts: &OneOrMany<'_>, sizes: &[isize]) -> PyResult<Operation> {
    let elements = sizes.iter().fold(1isize, |elements, size| elements.saturating_mul(*size)).max(1);
    let mut sum = 0i128;
    for shift in shifts.as_slice() {
        sum += i128::from(numbers::shift(shift, elements)?);
    }
    let shift = sum.rem_euclid(elements as i128) as i64;
    Ok(match sizes.len() {
        0 => Operation::Copy,
        1 => Operation::Roll { shifts: [shift].into_iter().collect(), axes: [0].into_iter().collect() },
        _ => Operation::RollFlat { shift },
    })
}

/// Shifts and axes beside each other; a single one is for all of the others.
fn along(shifts: &OneOrMany<'_>, axes: &OneOrMany<'_>, sizes: &[isize]) -> PyResult<Operation> {
    let (shifts, axes) = (shifts.as_slice(), axes.as_slice());
    let pairs = match (shifts.len(), axes.len()) {
        (1, axes) => axes,
        (shifts, 1) => shifts,
        (shifts, axes) if shifts == axes => axes,
        (shifts, axes) => {
            let message = format!("shift and axis do not fit each other: {shifts} shifts, {axes} axes");
            return Err(PyValueError::new_err(message));
        }
    };
    let rank = sizes.len();
    let axes: PerAxis<i64> =
        axes.iter().map(|axis| numbers::axis("axis", axis, rank)).collect::<PyResult<_>>()?;
    let mut operation = (PerAxis::new(), PerAxis::new());
    for pair in 0..pairs {
        let axis = axes[pair.min(axes.len() - 1)];
        let size = sizes[usize::try_from(axis).unwrap_or_default()];
        operation.0.push(numbers::shift(&shifts[pair.min(shifts.len() - 1)], size)?);
        operation.1.push(axis);
    }
    Ok(Operation::Roll { shifts: operation.0, axes: operation.1 })
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
        Some(axes) => OneOrMany::of("axes", axes)?
            .as_slice()
            .iter()
            .map(|axis| numbers::axis("axes", axis, sizes.len()))
            .collect::<PyResult<_>>()?,
    };
    let size = |axis: &i64| sizes[usize::try_from(*axis).unwrap_or_default()];
    let shifts = axes.iter().map(|axis| half(size(axis)) as i64).collect();
    moved(py, &Operation::Roll { shifts, axes }, &x, out, threads)
}
