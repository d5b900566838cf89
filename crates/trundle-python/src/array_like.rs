//! What is no array, made one: by numpy, or by the library of its parts.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use crate::array::Array;
use crate::dlpack;

/// An array of numpy's or of another library with the elements of `object`: of a variable, its
/// value; of a list of tensors, all of them stacked; of anything else, what `numpy.asarray` makes.
///
/// # Errors
/// TypeError for what is no array, and for one whose elements are not in memory; what numpy or the
/// other library raises.
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

/// Of a variable of TensorFlow, which is no tensor but has one.
fn value_of_variable<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if dlpack::package(&object.get_type()) != "tensorflow" {
        return Ok(None);
    }
    let value = object.getattr_opt(intern!(object.py(), "value"))?;
    let value = value.filter(PyAnyMethods::is_callable).map(|value| value.call0()).transpose()?;
    Ok(value.filter(|value| !value.get_type().is(object.get_type())))
}

/// The first part of a list or tuple.
fn first_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        true => object.try_iter()?.next().transpose(),
        false => Ok(None),
    }
}

/// Of other libraries' arrays: numpy would read them one by one, and the result be of another kind
/// than they are.
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

/// # Errors
/// TypeError for a collection of Dask, or an array of xarray's that is made of one: numpy would
/// compute all of it without a word.
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
        "{argument} is lazy (class {class}, by Dask), and its elements are not in memory: give \
         {argument}.compute(), or move each block by map_blocks"
    )))
}

/// Why an object is none.
fn no_array(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let class = object.get_type().name()?;
    let hint = match object.hasattr("toarray")? {
        true => format!(": give {argument}.toarray()"),
        false => String::new(),
    };
    Ok(PyTypeError::new_err(format!(
        "{argument} must be an array or something that numpy makes one of, not {class}{hint}"
    )))
}
