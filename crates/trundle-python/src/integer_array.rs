//! Arrays of integers: lengths of reversals, indices of gathers, and numbers of repetitions.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use trundle::notation::Unfilled;
use trundle::ops::{
    Indices, PutAlongAxis, ReverseSequence, ReverseSubsequences, ScatterNd, Take, TakeAlongAxis,
};
use trundle::{Op, Shape};

use crate::array::Array;
use crate::dlpack;
use crate::error::refused;
use crate::library;
use crate::numbers::no_count;
use crate::traced;

/// An array of integers, in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntegerArray {
    sizes: Vec<usize>,
    values: Integers,
}

/// Bools in the place of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bools {
    Refused,
    /// Cast them to 0 and 1, as numpy does.
    AsNumbers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Integers {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl IntegerArray {
    /// Reads anything that numpy converts to an array. `name` is for messages.
    ///
    /// # Errors
    /// TypeError for elements that are not integers.
    pub(crate) fn read(name: &str, numbers: &Bound<'_, PyAny>) -> PyResult<IntegerArray> {
        IntegerArray::read_as(name, numbers, Bools::Refused, |message| {
            PyTypeError::new_err(message)
        })
    }

    /// Like [`IntegerArray::read`], with a choice for bools. `refused` creates the error for other types.
    ///
    /// # Errors
    /// The error of `refused`.
    pub(crate) fn read_as(
        name: &str,
        numbers: &Bound<'_, PyAny>,
        bools: Bools,
        refused: fn(String) -> PyErr,
    ) -> PyResult<IntegerArray> {
        let array = as_array(name, numbers)
            .map_err(|error| traced::refusal(name, numbers).unwrap_or(error))?;
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        let sizes: Vec<usize> = array.getattr("shape")?.extract()?;
        // numpy converts an empty sequence to floats.
        let is_empty_sequence = sizes.contains(&0) && !numbers.hasattr("dtype")?;
        let values = match kind.as_str() {
            "u" => Integers::Unsigned(values(&array)?),
            "i" => Integers::Signed(values(&array)?),
            "b" if bools == Bools::AsNumbers => Integers::Signed(values(&array)?),
            _ if is_empty_sequence => Integers::Unsigned(Vec::new()),
            _ => {
                return Err(refused(format!("{name} must be integers, not {dtype}")));
            }
        };
        Ok(IntegerArray { sizes, values })
    }

    /// A reversal with a length for each index of `batch_axis`.
    ///
    /// # Errors
    /// ValueError if the lengths do not have exactly one axis.
    pub(crate) fn sequence(self, name: &str, axis: i64, batch_axis: i64) -> PyResult<Op> {
        if self.sizes.len() != 1 {
            let message = format!("{name} must have 1 axis, not {}", self.sizes.len());
            return Err(PyValueError::new_err(message));
        }
        let lengths: Vec<i128> = match self.values {
            Integers::Unsigned(numbers) => numbers.into_iter().map(i128::from).collect(),
            Integers::Signed(numbers) => numbers.into_iter().map(i128::from).collect(),
        };
        Ok(ReverseSequence::new(axis, batch_axis, lengths).into())
    }

    /// A reversal with a length for each row. The lengths have the shape of the data, but size 1 along `axis`.
    ///
    /// # Errors
    /// ValueError for a negative length.
    pub(crate) fn subsequences(self, py: Python<'_>, name: &str, axis: i64) -> PyResult<Op> {
        let shape = Shape::new(self.sizes).map_err(|error| refused(py, &error.into()))?;
        Ok(ReverseSubsequences::dense(axis, shape, self.values.not_negative(name)?).into())
    }

    /// Like [`IntegerArray::subsequences`], but also accepts a list for all rows in row-major order.
    ///
    /// # Errors
    /// As [`IntegerArray::subsequences`].
    pub(crate) fn subsequences_or_list(
        self,
        py: Python<'_>,
        name: &str,
        axis: i64,
    ) -> PyResult<Op> {
        match self.sizes.len() {
            1 => Ok(ReverseSubsequences::new(axis, self.values.not_negative(name)?).into()),
            _ => self.subsequences(py, name, axis),
        }
    }
}

impl IntegerArray {
    /// Fills an operator of a chain with its lengths or indices.
    ///
    /// # Errors
    /// The errors of the other methods.
    pub(crate) fn fill(self, py: Python<'_>, name: &str, unfilled: &Unfilled) -> PyResult<Op> {
        match unfilled.clone() {
            Unfilled::Reverse { axis, batch_axis: Some(batch_axis) } => {
                self.sequence(name, axis, batch_axis)
            }
            Unfilled::Reverse { axis, batch_axis: None } => {
                self.subsequences_or_list(py, name, axis)
            }
            Unfilled::Take { axis, mode } => {
                Ok(Take::new(axis, self.indices(py, name)?).with_mode(mode).into())
            }
            Unfilled::TakeAlongAxis { axis } => {
                Ok(TakeAlongAxis::new(axis, self.indices(py, name)?).into())
            }
            Unfilled::PutAlongAxis { inputs, axis } => {
                Ok(PutAlongAxis::new(inputs, axis, self.indices(py, name)?).into())
            }
            Unfilled::ScatterNd { inputs } => {
                Ok(ScatterNd::new(inputs, self.indices(py, name)?).into())
            }
            _ => Err(PyTypeError::new_err(format!("this stage does not use {name}"))),
        }
    }

    /// Indices of the same shape.
    ///
    /// # Errors
    /// IndexError for a number that exceeds a signed 64-bit integer.
    pub(crate) fn indices(self, py: Python<'_>, name: &str) -> PyResult<Indices> {
        let values = self.values.signed(|value| {
            PyIndexError::new_err(format!("{name}: index {value} is out of range"))
        })?;
        let shape = Shape::new(self.sizes).map_err(|error| refused(py, &error.into()))?;
        Indices::new(shape, values).map_err(|error| refused(py, &error))
    }

    /// The sizes and the numbers, which must not be negative.
    ///
    /// # Errors
    /// ValueError for a number that is negative or exceeds a signed 64-bit integer.
    pub(crate) fn counts(self, name: &str) -> PyResult<(Vec<usize>, Vec<i64>)> {
        let counts = self.values.signed(|count| no_count(name, count))?;
        match counts.iter().find(|count| **count < 0) {
            Some(count) => Err(no_count(name, count)),
            None => Ok((self.sizes, counts)),
        }
    }

    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

impl Integers {
    /// Converts the numbers to signed integers.
    ///
    /// # Errors
    /// The error of `beyond` for a number that exceeds a signed 64-bit integer.
    fn signed(self, beyond: impl Fn(u64) -> PyErr) -> PyResult<Vec<i64>> {
        match self {
            Integers::Signed(numbers) => Ok(numbers),
            Integers::Unsigned(numbers) => {
                let signed = |number| i64::try_from(number).map_err(|_| beyond(number));
                numbers.into_iter().map(signed).collect()
            }
        }
    }

    /// Converts the numbers to unsigned integers.
    ///
    /// # Errors
    /// ValueError for a negative number.
    fn not_negative(self, name: &str) -> PyResult<Arc<[u64]>> {
        let signed = match self {
            Integers::Unsigned(numbers) => return Ok(numbers.into()),
            Integers::Signed(numbers) => numbers,
        };
        if let Some((at, length)) = signed.iter().enumerate().find(|(_, length)| **length < 0) {
            let message = format!("{name}: length {length} at index {at} is negative");
            return Err(PyValueError::new_err(message));
        }
        Ok(signed.into_iter().map(i64::cast_unsigned).collect())
    }
}

fn as_array<'py>(name: &str, lengths: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(array) = Array::of(lengths) {
        // This refuses masked arrays.
        array.memory(name)?;
        return Ok(array.into_object());
    }
    if library::is_on_gpu(lengths)? {
        return Err(PyTypeError::new_err(format!(
            "{name} must be on the CPU; copy them first, by {name}.cpu() in PyTorch or {name}.get() in CuPy (this waits for the GPU)"
        )));
    }
    let numpy = lengths.py().import("numpy")?;
    let only_shared = dlpack::is_foreign(lengths)? && !lengths.hasattr("__array__")?;
    numpy.call_method1(if only_shared { "from_dlpack" } else { "asarray" }, (lengths,))
}

/// The type is at least as wide.
fn values<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    // The cast result is row-major, aligned, and of the base class; subclasses may keep two axes.
    let packed = array.call_method1("astype", (T::get_dtype(array.py()), "C", "unsafe", false))?;
    Ok(packed.call_method0("ravel")?.cast::<PyArray1<T>>()?.to_vec()?)
}
