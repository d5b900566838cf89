//! Functions that join arrays.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trundle::{IndexMap, Program, Shape, TensorId};

use super::AxisOrNone;
use crate::array::Class;
use crate::assembled::assembled;
use crate::numbers;
use crate::tensor::Tensor;

/// Concatenates arrays along an axis.
///
/// Parameters
/// ----------
/// arrays : sequence of array_like
///     At least one array. All must have the same kind and dtype, and equal sizes on all axes except `axis`. Unlike in
///     numpy, they are not cast.
/// axis : int, optional
///     The axis. A negative axis counts from the end. If None, the arrays are flattened first.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of the arrays, with their shape, but the sum of their sizes along `axis`
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If the axis is out of range.
/// ValueError
///     If `arrays` is empty, if the shapes do not match, or if `out` does not fit.
/// TypeError
///     If dtypes or kinds differ, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.concatenate`` and the Array API's ``concat``.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.concatenate([np.array([[1, 2]]), np.array([[3, 4]])], axis=1)
/// array([[1, 2, 3, 4]])
#[pyfunction]
#[pyo3(
    signature = (arrays, /, axis=AxisOrNone::Default, *, out=None, threads=None),
    text_signature = "(arrays, /, axis=0, *, out=None, threads=None)"
)]
pub(crate) fn concatenate<'py>(
    arrays: &Bound<'py, PyAny>,
    axis: AxisOrNone<'py>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arrays.py();
    let tensors = read("concatenate", arrays)?;
    let rank = tensors[0].memory.sizes.len();
    let axis = match axis {
        AxisOrNone::Default if rank > 0 => Some(0),
        AxisOrNone::Given(axis) if axis.is_none() => None,
        AxisOrNone::Given(axis) if rank > 0 => Some(numbers::axis("axis", &axis, rank)?),
        AxisOrNone::Default | AxisOrNone::Given(_) => {
            let message = "zero-dimensional arrays cannot be concatenated";
            return Err(PyValueError::new_err(message));
        }
    };
    let program = |program: &mut Program, given: &[TensorId]| match axis {
        Some(axis) => program.joined(usize::try_from(axis).unwrap_or_default(), given),
        None => {
            let mut rows = Vec::with_capacity(given.len());
            for id in given {
                let shape = program.tensor(*id).shape.clone();
                let row = Shape::new([shape.elements()])?;
                rows.push(program.moved(*id, IndexMap::reshape(&shape, &row)?)?);
            }
            program.joined(0, &rows)
        }
    };
    assembled(py, &tensors, program, out, numbers::threads(threads)?)
}

/// Stacks arrays of one shape along a new axis.
///
/// Parameters
/// ----------
/// arrays : sequence of array_like
///     At least one array. All must have the same kind, dtype and shape. Unlike in numpy, they are not cast.
/// axis : int, optional
///     The new axis of the result. A negative axis counts from the end of the result's axes.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of the arrays, with their shape and the new axis, whose size is their number
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If the axis is out of range.
/// ValueError
///     If `arrays` is empty, if shapes differ, or if `out` does not fit.
/// TypeError
///     If dtypes or kinds differ, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.stack`` and the Array API's ``stack``.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.stack([np.array([1, 2]), np.array([3, 4])], axis=1)
/// array([[1, 3],
///        [2, 4]])
#[pyfunction]
#[pyo3(
    signature = (arrays, /, axis=None, *, out=None, threads=None),
    text_signature = "(arrays, /, axis=0, *, out=None, threads=None)"
)]
pub(crate) fn stack<'py>(
    arrays: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arrays.py();
    let tensors = read("stack", arrays)?;
    let rank = tensors[0].memory.sizes.len() + 1;
    let axis = axis.map_or(Ok(0), |axis| numbers::axis("axis", axis, rank))?;
    let axis = usize::try_from(axis).unwrap_or_default();
    let program = |program: &mut Program, given: &[TensorId]| program.stacked(axis, given);
    assembled(py, &tensors, program, out, numbers::threads(threads)?)
}

/// All arrays must have the kind and dtype of the first one.
fn read<'py>(function: &str, arrays: &Bound<'py, PyAny>) -> PyResult<Vec<Tensor<'py>>> {
    let mut tensors: Vec<Tensor<'py>> = Vec::new();
    for (at, array) in arrays.try_iter()?.enumerate() {
        let argument = format!("arrays[{at}]");
        let tensor = Tensor::to_read(&argument, &array?, Class::Plain)?;
        if let Some(first) = tensors.first() {
            first.check_like(&argument, &tensor)?;
        }
        tensors.push(tensor);
    }
    if tensors.is_empty() {
        return Err(PyValueError::new_err(format!("need at least one array to {function}")));
    }
    Ok(tensors)
}
