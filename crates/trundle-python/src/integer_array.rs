//! The lengths of reversals, the indices of gathers and numbers of elements, from any array of integers.

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

/// An array of integers, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntegerArray {
    sizes: Vec<usize>,
    values: Integers,
}

/// What truth values are where integers belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bools {
    /// Nothing that counts.
    Refused,
    /// 0 and 1, as numpy casts them.
    AsNumbers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Integers {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl IntegerArray {
    /// Whatever numpy makes an array of, as the argument `name`.
    ///
    /// # Errors
    /// TypeError for elements that are no integers.
    pub(crate) fn read(name: &str, numbers: &Bound<'_, PyAny>) -> PyResult<IntegerArray> {
        IntegerArray::read_as(name, numbers, Bools::Refused, |message| {
            PyTypeError::new_err(message)
        })
    }

    /// [`IntegerArray::read`], with truth values as it is said, and `refused` for what are no integers.
    ///
    /// # Errors
    /// As it is said.
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
        // numpy makes floats of an empty sequence.
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

    /// A reversal along `axis` with a length for each index of `batch_axis`.
    ///
    /// # Errors
    /// ValueError for lengths with more or fewer axes than one.
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

    /// A reversal along `axis` with a length for each position outside of it, in the shape of what is
    /// reversed, but 1 along `axis`.
    ///
    /// # Errors
    /// ValueError for a negative length.
    pub(crate) fn subsequences(self, py: Python<'_>, name: &str, axis: i64) -> PyResult<Op> {
        let shape = Shape::new(self.sizes).map_err(|error| refused(py, &error.into()))?;
        Ok(ReverseSubsequences::dense(axis, shape, self.values.not_negative(name)?).into())
    }

    /// As [`IntegerArray::subsequences`], and a list of one axis is all positions in row-major order.
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
    /// The operator of a chain that lacks them.
    ///
    /// # Errors
    /// As the other functions.
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
            _ => Err(PyTypeError::new_err(format!("{name} is of no use for this stage"))),
        }
    }

    /// Indices, in the shape of the array.
    ///
    /// # Errors
    /// IndexError for one that is beyond 64 bits with a sign.
    pub(crate) fn indices(self, py: Python<'_>, name: &str) -> PyResult<Indices> {
        let values = self.values.signed(|value| {
            PyIndexError::new_err(format!("{name}: index {value} is out of range"))
        })?;
        let shape = Shape::new(self.sizes).map_err(|error| refused(py, &error.into()))?;
        Indices::new(shape, values).map_err(|error| refused(py, &error))
    }

    /// The sizes of the array, and its numbers, none of which is negative.
    ///
    /// # Errors
    /// ValueError for one that is negative, or beyond 64 bits with a sign.
    pub(crate) fn counts(self, name: &str) -> PyResult<(Vec<usize>, Vec<i64>)> {
        let counts = self.values.signed(|count| no_count(name, count))?;
        match counts.iter().find(|count| **count < 0) {
            Some(count) => Err(no_count(name, count)),
            None => Ok((self.sizes, counts)),
        }
    }

    /// The sizes of the array.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

impl Integers {
    /// # Errors
    /// What `beyond` makes of a number that has no place in 64 bits with a sign.
    fn signed(self, beyond: impl Fn(u64) -> PyErr) -> PyResult<Vec<i64>> {
        match self {
            Integers::Signed(numbers) => Ok(numbers),
            Integers::Unsigned(numbers) => {
                let signed = |number| i64::try_from(number).map_err(|_| beyond(number));
                numbers.into_iter().map(signed).collect()
            }
        }
    }

    /// # Errors
    /// ValueError for a negative one.
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

/// What was given as an array of numpy's.
fn as_array<'py>(name: &str, lengths: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(array) = Array::of(lengths) {
        // Masked ones are refused.
        array.memory(name)?;
        return Ok(array.into_object());
    }
    if library::is_on_gpu(lengths)? {
        return Err(PyTypeError::new_err(format!(
            "{name} must be on the CPU, since they decide what is launched: to copy them from a GPU waits for all that it \
             was given, so that is for the caller to do, as by {name}.cpu() of PyTorch or {name}.get() of CuPy"
        )));
    }
    let numpy = lengths.py().import("numpy")?;
    let only_shared = dlpack::is_foreign(lengths)? && !lengths.hasattr("__array__")?;
    numpy.call_method1(if only_shared { "from_dlpack" } else { "asarray" }, (lengths,))
}

/// The elements of an array as numbers of one type, which is not narrower than theirs.
fn values<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    // Row-major, aligned as the array itself may not be, and of no class that keeps two axes.
    let packed = array.call_method1("astype", (T::get_dtype(array.py()), "C", "unsafe", false))?;
    Ok(packed.call_method0("ravel")?.cast::<PyArray1<T>>()?.to_vec()?)
}
