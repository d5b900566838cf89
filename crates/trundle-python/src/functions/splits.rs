//! Functions that split arrays.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use trundle::ops::Slice;

use super::axis_or_axes;
use crate::array::Class;
use crate::error::axis_out_of_range;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Splits `x` along an axis into new arrays.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// indices_or_sections : int or sequence of ints
///     The number of equal parts, or the start index of each part except the first. Negative indices count from the
///     end, and indices outside the axis are clipped, as in a slice. A part that ends before it starts is empty.
/// axis : int, optional
///     The axis. A negative axis counts from the end.
/// threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// list of arrays of the kind and dtype of `x`, with the shape of `x` except along the axis
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If `axis` is out of range.
/// ValueError
///     If the axis cannot be divided into equal parts, or if the number of parts is less than 1.
/// TypeError
///     If indices are not integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.split``, but returns copies, not views. `concatenate` is the inverse.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> x = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
/// >>> trundle.split(x, 2, axis=1)
/// [array([[1, 2],
///        [5, 6]]), array([[3, 4],
///        [7, 8]])]
/// >>> trundle.split(x[0], [1, 3])
/// [array([1]), array([2, 3]), array([4])]
#[pyfunction]
#[pyo3(
    signature = (x, /, indices_or_sections, axis=None, *, threads=None, axes=None),
    text_signature = "(x, /, indices_or_sections, axis=0, *, threads=None)"
)]
pub(crate) fn split<'py>(
    x: &Bound<'py, PyAny>,
    indices_or_sections: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    axes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = x.py();
    let axis = axis_or_axes("split", axis, axes)?;
    let (x, threads) = (Tensor::to_read("x", x, Class::Kept)?, numbers::threads(threads)?);
    let sizes = &x.memory.sizes;
    let axis = match axis {
        Some(axis) => numbers::axis("axis", axis, sizes.len())?,
        None if sizes.is_empty() => return Err(axis_out_of_range(py, "axis", 0, 0)),
        None => 0,
    };
    let size = sizes[usize::try_from(axis).unwrap_or_default()] as i64;
    let mut start = 0;
    let parts = PyList::empty(py);
    for end in ends(indices_or_sections, size)? {
        let bounds = [[start], [end.max(start)], [axis], [1]].map(PerAxis::from_iter);
        parts.append(moved(py, &Operation::of(Slice::DECLARATION, bounds), &x, None, threads)?)?;
        start = end;
    }
    Ok(parts)
}

/// The end of each part.
///
/// # Errors
/// ValueError if the axis cannot be divided equally or there is less than one part, TypeError if an entry is not an
/// integer.
fn ends(given: &Bound<'_, PyAny>, size: i64) -> PyResult<Vec<i64>> {
    if given.len().is_ok() {
        let from_front = |index: i64| if index < 0 { index.saturating_add(size) } else { index };
        let indices = numbers::indices("indices_or_sections", given)?;
        let ends = indices.into_iter().map(|index| from_front(index).clamp(0, size));
        return Ok(ends.chain([size]).collect());
    }
    let refused = |message| Err(PyValueError::new_err(message));
    // A number that does not fit is larger than any axis.
    let sections = numbers::one("indices_or_sections", given, || match given.gt(0)? {
        true => Ok(i64::MAX),
        false => Ok(0),
    })?;
    match sections {
        ..=0 => refused(format!("the number of sections must be larger than 0, not {given}")),
        _ if size % sections != 0 => refused(format!(
            "array split does not result in an equal division: {size} elements in {sections} sections"
        )),
        _ => Ok((1..=sections).map(|section| size / sections * section).collect()),
    }
}
