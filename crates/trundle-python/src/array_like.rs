//! Converts objects that are not arrays, by numpy or the library of the elements.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use crate::array::Array;
use crate::dlpack;

/// Converts `object` to an array of numpy or of another library: a TensorFlow variable to its value, a list of tensors
/// to a stacked tensor, anything else by `numpy.asarray`.
///
/// # Errors
/// TypeError for an object that cannot be converted and for a lazy array, and the exceptions of numpy or of the other
/// library.
pub(crate) fn array_of<'py>(
    argument: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(value) = value_of_variable(object)? {
        return Ok(value);
    }
    refuse_lazy(argument, object)?;
    if let Some(first) = first_of(object)? {
        refuse_lazy(argument, &first)?;
        if let Some(stacked) = stacked(object, &first)? {
            return Ok(stacked);
        }
    }
    let array = Array::made_of(object)?;
    if array.is_one_object() {
        return Err(no_array(argument, object)?);
    }
    Ok(array.into_object())
}

/// A variable is not a tensor itself.
fn value_of_variable<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if dlpack::package(&object.get_type()) != "tensorflow" {
        return Ok(None);
    }
    let value = object.getattr_opt(intern!(object.py(), "value"))?;
    let value = value.filter(PyAnyMethods::is_callable).map(|value| value.call0()).transpose()?;
    Ok(value.filter(|value| !value.get_type().is(object.get_type())))
}

fn first_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        true => object.try_iter()?.next().transpose(),
        false => Ok(None),
    }
}

/// Stacks a list of arrays of another library. numpy would convert them one by one, to a numpy array.
fn stacked<'py>(
    object: &Bound<'py, PyAny>,
    first: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if Array::of(first).is_some() || !dlpack::is_foreign(first)? {
        return Ok(None);
    }
    let stack = dlpack::home(first)?.getattr_opt(intern!(object.py(), "stack"))?;
    stack.map(|stack| stack.call1((object,))).transpose()
}

/// Checks that an object is not a lazy array: a Dask collection, or an xarray array that contains one. numpy would
/// compute such an array without a warning.
///
/// # Errors
/// TypeError for a lazy array.
fn refuse_lazy(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    let graph = object.getattr_opt(intern!(object.py(), "__dask_graph__"))?;
    let is_lazy = match graph {
        Some(graph) if !object.is_instance_of::<PyType>() => !graph.call0()?.is_none(),
        _ => false,
    };
    if !is_lazy {
        return Ok(());
    }
    let class = object.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{argument} is lazy (class {class}, by Dask): pass {argument}.compute(), or move each block by map_blocks"
    )))
}

fn no_array(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let class = object.get_type().name()?;
    let hint = match object.hasattr("toarray")? {
        true => format!(": pass {argument}.toarray()"),
        false => String::new(),
    };
    Ok(PyTypeError::new_err(format!(
        "{argument} must be an array or convertible to a numpy array, not {class}{hint}"
    )))
}
