//! Padding.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use smallvec::SmallVec;
use trundle::ops::{Kind, Pad};
use trundle::{Error, Program, Shape, TensorId};

use crate::array::Class;
use crate::assembled::assembled;
use crate::integer_array::IntegerArray;
use crate::memory::PerAxis;
use crate::moved::moved;
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Pads `x` along its axes with constants or with its own elements.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// pad_width : int, sequence of ints or of pairs, or dict
///     The numbers of elements to add before and after `x`: one number for all, one pair for all axes, a pair for each
///     axis, or a dict from axes to numbers or pairs.
/// mode : str, optional
///     'constant': pad with `constant_values`. 'edge': repeat the outermost element. 'reflect' and 'symmetric':
///     mirror, without and with the outermost element. 'wrap': continue from the other end.
/// constant_values : scalar, or sequence of scalars or of pairs, optional
///     The values for mode 'constant': one value for all, one pair of values (before and after `x`) for all axes, or a
///     pair for each axis. The default is 0.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with the padded shape; for a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// numpy.exceptions.AxisError
///     If a dict has an axis that is out of range.
/// ValueError
///     If `pad_width` is negative or does not broadcast to a pair for each axis; if the mode needs elements of
///     an axis that has none; if `mode` is unknown; or if `out` does not fit.
/// TypeError
///     If `pad_width` is not of integers, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.pad``, without the modes that compute values.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> trundle.pad(np.array([1, 2]), (1, 2), constant_values=7)
/// array([7, 1, 2, 7, 7])
/// >>> trundle.pad(np.array([1, 2, 3, 4]), 2, mode="reflect")
/// array([3, 2, 1, 2, 3, 4, 3, 2])
/// >>> trundle.pad(np.array([[1, 2], [3, 4]]), ((0, 1), (2, 0)), mode="edge")
/// array([[1, 1, 1, 2],
///        [3, 3, 3, 4],
///        [3, 3, 3, 4]])
/// >>> trundle.pad(np.array([[1, 2], [3, 4]]), {-1: (0, 3)}, mode="wrap")
/// array([[1, 2, 1, 2, 1],
///        [3, 4, 3, 4, 3]])
#[pyfunction]
#[pyo3(
    signature = (x, /, pad_width, mode=None, *, constant_values=None, out=None, threads=None),
    text_signature = "(x, /, pad_width, mode='constant', *, constant_values=0, out=None, threads=None)"
)]
pub(crate) fn pad<'py>(
    x: &Bound<'py, PyAny>,
    pad_width: &Bound<'py, PyAny>,
    mode: Option<&Bound<'py, PyAny>>,
    constant_values: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    let widths = widths(pad_width, x.memory.sizes.len())?;
    let operation = match Around::of(mode)? {
        Around::Constant => {
            let values = x.pairs_of(py, constant_values)?;
            return by_constants(py, x, &widths, &values, out, threads);
        }
        Around::Own { word, .. } if constant_values.is_some() => {
            let message = format!("mode {word:?} takes no constant_values");
            return Err(PyValueError::new_err(message));
        }
        Around::Own { number, .. } => {
            Operation::of(Pad::DECLARATION, [widths, PerAxis::from_slice(&[number])])
        }
    };
    moved(py, &operation, &x, out, threads)
}

/// `values` has the bytes of two elements for each axis. Corners get the value of the last axis.
fn by_constants<'py>(
    py: Python<'py>,
    x: Tensor<'py>,
    widths: &[i64],
    values: &[u8],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let width = x.memory.width;
    let program = |program: &mut Program, given: &[TensorId]| {
        let mut padded = given[0];
        for (at, count) in widths.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (axis, is_behind) = (at / 2, at % 2 == 1);
            let mut sizes = program.tensor(padded).shape.sizes().to_vec();
            sizes[axis] = usize::try_from(*count).unwrap_or(usize::MAX);
            let fill = program.fill(width, &values[at * width..][..width])?;
            let block = program.broadcast(fill, &Shape::new(sizes)?)?;
            let parts = if is_behind { [padded, block] } else { [block, padded] };
            padded = program.joined(axis, &parts)?;
        }
        Ok::<_, Error>(padded)
    };
    assembled(py, &[x], program, out, threads)
}

enum Around {
    Constant,
    Own { word: &'static str, number: i64 },
}

impl Around {
    /// Parses the mode.
    ///
    /// # Errors
    /// ValueError for an unknown mode or one that computes; TypeError if it is not a str.
    fn of(mode: Option<&Bound<'_, PyAny>>) -> PyResult<Around> {
        const COMPUTED: [&str; 6] =
            ["empty", "linear_ramp", "maximum", "mean", "median", "minimum"];
        let Some(mode) = mode else { return Ok(Around::Constant) };
        let Ok(word) = mode.cast::<PyString>() else {
            let kind = mode.get_type().name()?;
            return Err(PyTypeError::new_err(format!("mode must be a str, not {kind}")));
        };
        let word = word.to_str()?;
        if word == "constant" {
            return Ok(Around::Constant);
        }
        let words = Pad::DECLARATION.parameters.iter().find_map(|parameter| match parameter.kind {
            Kind::Word(words) => Some(words),
            _ => None,
        });
        // Mode 'constant' is handled above, for values of any type.
        let words = words.unwrap_or_default();
        if let Some((number, word)) = (0..).zip(words).find(|(_, own)| **own == word) {
            return Ok(Around::Own { word, number });
        }
        let why = match COMPUTED.contains(&word) {
            true => ", which computes new elements: trundle only moves elements",
            false => "",
        };
        let message = format!("mode must be one of {}, not {word:?}{why}", words.join(", "));
        Err(PyValueError::new_err(message))
    }
}

/// Reads two widths for each axis, before and after the array.
///
/// # Errors
/// TypeError for widths that are not integers, ValueError for negative widths or a shape that does not broadcast to a
/// pair for each axis, AxisError for an axis of a dict that is out of range.
fn widths(pad_width: &Bound<'_, PyAny>, rank: usize) -> PyResult<PerAxis<i64>> {
    if let Ok(by_axis) = pad_width.cast::<PyMapping>() {
        return widths_by_axis(by_axis, rank);
    }
    let (sizes, widths) = IntegerArray::read("pad_width", pad_width)?.counts("pad_width")?;
    // One row is for all axes, one column for both sides.
    let (rows, columns) = match sizes[..] {
        [] => (1, 1),
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        _ => (0, 0),
    };
    if !(rows == 1 || rows == rank && sizes.len() == 2) || !matches!(columns, 1 | 2) {
        let message = format!(
            "pad_width of shape {sizes:?} does not broadcast to a pair for each axis of x, [{rank}, 2]"
        );
        return Err(PyValueError::new_err(message));
    }
    let width = |axis: usize, side: usize| {
        let row = if rows == 1 { 0 } else { axis };
        widths[row * columns + if columns == 1 { 0 } else { side }]
    };
    Ok((0..rank).flat_map(|axis| [width(axis, 0), width(axis, 1)]).collect())
}

/// Axes that the mapping does not have get 0.
///
/// # Errors
/// As [`widths`].
fn widths_by_axis(by_axis: &Bound<'_, PyMapping>, rank: usize) -> PyResult<PerAxis<i64>> {
    let mut widths = SmallVec::from_elem(0, 2 * rank);
    for item in by_axis.items()? {
        let (axis, width): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let axis = numbers::axis("pad_width", &axis, rank)?;
        let (before, behind) = match numbers::counts("pad_width", &width)?[..] {
            [both] => (both, both),
            [before, behind] => (before, behind),
            ref other => {
                let message = format!(
                    "pad_width: axis {axis} takes a number or a pair, got {} numbers",
                    other.len()
                );
                return Err(PyValueError::new_err(message));
            }
        };
        let at = 2 * usize::try_from(axis).unwrap_or_default();
        widths[at] = before;
        widths[at + 1] = behind;
    }
    Ok(widths)
}
