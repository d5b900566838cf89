//! The axes in another order.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trundle::Permutation;

use crate::array::Class;
use crate::error::refused;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

#[pyfunction]
#[pyo3(signature = (x, /, axes, *, out=None, threads=None))]
pub(crate) fn permute_dims<'py>(
    x: &Bound<'py, PyAny>,
    axes: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let operation = if axes.is_none() {
        Operation::Invert
    } else {
        let rank = x.memory.sizes.len();
        let order = numbers::axes("axes", axes, rank)?;
        if order.len() != rank {
            return Err(PyValueError::new_err("axes don't match array"));
        }
        Operation::Permute(order)
    };
    moved(axes.py(), &operation, &x, out, threads)
}

#[pyfunction]
#[pyo3(signature = (x, /, order=None, *, out=None, threads=None), text_signature = "(x, /, order=(), *, out=None, threads=None)")]
pub(crate) fn transpose<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    order: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let order = order.map(numbers::order).transpose()?.unwrap_or_default();
    let operation = if order.is_empty() {
        Operation::Invert
    } else {
        Permutation::new(&order, x.memory.sizes.len()).map_err(|error| refused(py, &error))?;
        Operation::Permute(order)
    };
    moved(py, &operation, &x, out, threads)
}

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
    moved(a.py(), &Operation::Permute(order.collect()), &x, out, threads)
}

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
    moved(a.py(), &Operation::Permute(order), &x, out, threads)
}
