//! Elements where they are to lie: copies of any view, and axes split and merged.

use std::fmt::Write;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use smallvec::SmallVec;

use crate::array::Class;
use crate::memory::{Memory, PerAxis};
use crate::moved::{copied, moved};
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// A new C-contiguous array with the elements of `x`, whatever the strides of `x` are.
///
/// Negative strides (``x[::-1]``), zero strides (``np.broadcast_to``) and every order of axes are read as they are.
///
/// Parameters
/// ----------
/// x : array_like
///     Any dtype, but no object dtype and no MaskedArray. An array without axes gets one, as numpy's does.
/// dtype : dtype_like, optional
///     That of `x`, for calls that are written for numpy: nothing is cast.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`; of a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// ValueError
///     If `out` does not fit.
/// TypeError
///     If `dtype` is another than that of `x`, or for one that holds objects.
///
/// Notes
/// -----
/// As ``numpy.ascontiguousarray``, but always a new array: numpy returns `x` itself where it is contiguous already.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> bgr = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)
/// >>> rgb = trundle.ascontiguousarray(bgr[..., ::-1].transpose(0, 3, 1, 2))
/// >>> rgb.shape, rgb[0, 0].tolist()
/// ((1, 3, 2, 2), [[2, 5], [8, 11]])
#[pyfunction]
#[pyo3(signature = (x, /, dtype=None, *, out=None, threads=None))]
pub(crate) fn ascontiguousarray<'py>(
    x: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (mut x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    if let Some(dtype) = dtype {
        x.check_dtype_is("x", dtype)?;
    }
    x.memory.with_an_axis();
    moved(py, &Operation::Copy, &x, out, threads)
}

/// Writes the elements of `src` into `dst`, each with any strides.
///
/// Parameters
/// ----------
/// dst : array
///     What is written: writable, no two elements in one place.
/// src : array_like
///     Of the dtype of `dst`, with its shape or one that broadcasts to it. It may overlap `dst`: `dst` is then as if `src`
///     had been copied first.
/// casting : str, optional
///     One of numpy's words, for calls that are written for it: nothing is cast, whatever it says.
/// where : bool, optional
///     True.
/// threads : int, optional
///     See `help(trundle)`.
///
/// Raises
/// ------
/// ValueError
///     If `src` does not broadcast to the shape of `dst`, or if `dst` is read-only or has overlapping elements.
/// TypeError
///     If the dtypes differ, if they hold objects, or if `where` is a mask.
///
/// Notes
/// -----
/// As ``numpy.copyto``, but nothing is cast, and all elements are written.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> dst = np.zeros((2, 3), dtype=np.int64)
/// >>> trundle.copyto(dst[:, ::-1], np.array([1, 2, 3]))
/// >>> dst
/// array([[3, 2, 1],
///        [3, 2, 1]])
#[pyfunction]
#[pyo3(
    signature = (dst, src, /, casting=None, r#where=None, *, threads=None),
    text_signature = "(dst, src, /, casting='same_kind', where=True, *, threads=None)"
)]
pub(crate) fn copyto<'py>(
    dst: &Bound<'py, PyAny>,
    src: &Bound<'py, PyAny>,
    casting: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<()> {
    let py = dst.py();
    check_casting(casting)?;
    check_where(r#where)?;
    let (src, threads) = (Tensor::to_read("src", src, Class::Plain)?, numbers::threads(threads)?);
    let dst = Tensor::to_write("dst", dst, &src)?;
    let broadcast = broadcast(&src.memory, &dst.memory.sizes)?;
    copied(py, &broadcast, &dst.memory, threads)
}

/// Words of numpy's that allow more or less of what is not done.
///
/// # Errors
/// ValueError for any other.
fn check_casting(casting: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    const CASTINGS: [&str; 6] = ["no", "equiv", "safe", "same_kind", "same_value", "unsafe"];
    let Some(casting) = casting else { return Ok(()) };
    match casting.extract::<String>() {
        Ok(word) if CASTINGS.contains(&&*word) => Ok(()),
        _ => {
            let message =
                format!("casting must be one of {}, not {}", CASTINGS.join(", "), casting.repr()?);
            Err(PyValueError::new_err(message))
        }
    }
}

/// # Errors
/// TypeError for anything but True.
fn check_where(r#where: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match r#where {
        Some(mask) if !mask.is(PyBool::new(mask.py(), true)) => Err(PyTypeError::new_err(
            "where must be True: all elements are copied, and numpy.copyto takes a mask",
        )),
        _ => Ok(()),
    }
}

/// The same elements for every index of new axes in front, and of axes of size 1.
fn broadcast(src: &Memory, sizes: &[isize]) -> PyResult<Memory> {
    let extra = src.sizes.len().saturating_sub(sizes.len());
    let fits = |(own, size): (&isize, &isize)| own == size || *own == 1;
    let kept = &src.sizes[extra..];
    let new = sizes.len() - kept.len();
    if src.sizes[..extra].iter().any(|size| *size != 1) || !kept.iter().zip(&sizes[new..]).all(fits)
    {
        let message = format!(
            "could not broadcast src of shape {:?} into dst of shape {sizes:?}",
            src.sizes.as_slice()
        );
        return Err(PyValueError::new_err(message));
    }
    let mut strides: PerAxis<isize> = SmallVec::from_elem(0, new);
    let spread = kept.iter().zip(&src.strides[extra..]).zip(&sizes[new..]);
    strides.extend(spread.map(|((own, stride), size)| if own == size { *stride } else { 0 }));
    Ok(Memory {
        first: src.first,
        sizes: sizes.into(),
        strides,
        width: src.width,
        place: src.place,
    })
}

/// Axes split, reordered and merged, as a pattern says in the notation of einops.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, but no object dtype and no MaskedArray.
/// pattern : str
///     The axes of `x`, an arrow, and what becomes of them. Names in parentheses are one axis: split before the arrow,
///     merged behind it. ``...`` is any number of axes, ``1`` or ``()`` one of size 1. Each name stands on both sides.
/// **sizes : int
///     The sizes of axes by their names; of an axis that splits, all but one.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`; of a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// ValueError
///     If the pattern is none, does not fit the shape of `x`, or leaves a size open; the message shows where.
/// TypeError
///     If `pattern` is no str, if a size is no integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``einops.rearrange``; the result is no view. Since every keyword is the size of an axis, there is no ``out`` and no
/// ``threads``: a `chain` of the pattern has both.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> image = np.arange(24).reshape(4, 6)
/// >>> trundle.rearrange(image, "(h p) (w q) -> (h w) (p q)", p=2, q=3)
/// array([[ 0,  1,  2,  6,  7,  8],
///        [ 3,  4,  5,  9, 10, 11],
///        [12, 13, 14, 18, 19, 20],
///        [15, 16, 17, 21, 22, 23]])
#[pyfunction]
#[pyo3(signature = (x, pattern, /, **sizes))]
pub(crate) fn rearrange<'py>(
    x: &Bound<'py, PyAny>,
    pattern: &Bound<'py, PyAny>,
    sizes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let pattern = pattern_text(pattern, x)?;
    let x = Tensor::to_read("x", x, Class::Plain)?;
    if !(pattern.contains("->") || pattern.contains('→')) || pattern.contains(['|', ',']) {
        let message = format!("rearrange takes one pattern, as 'h w c -> c h w', not {pattern:?}");
        return Err(PyValueError::new_err(message));
    }
    let mut text = pattern.to_owned();
    for (name, size) in sizes.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_str()?;
        if matches!(name, "out" | "threads") && !has_axis(pattern, name) {
            let message = format!(
                "rearrange() takes the sizes of axes as keywords, and \"{name}\" is no axis of \
                 {pattern:?}: write trundle.chain(pattern)(x, {name}=...)"
            );
            return Err(PyTypeError::new_err(message));
        }
        if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(PyValueError::new_err(format!("{name:?} is not the name of an axis")));
        }
        let size = numbers::size(name, &size)?;
        let _ = write!(text, ", {name}={size}");
    }
    moved(py, &Operation::Rearrange(text), &x, None, None)
}

/// # Errors
/// TypeError for anything but a str.
fn pattern_text<'a>(pattern: &'a Bound<'_, PyAny>, x: &Bound<'_, PyAny>) -> PyResult<&'a str> {
    if let Ok(text) = pattern.cast::<PyString>() {
        return text.to_str();
    }
    let hint = match x.is_instance_of::<PyString>() {
        true => ": the array comes first, as in rearrange(x, pattern)",
        false => "",
    };
    let kind = pattern.get_type().name()?;
    Err(PyTypeError::new_err(format!("pattern must be a str, not {kind}{hint}")))
}

/// Whether an axis of a pattern has this name.
fn has_axis(pattern: &str, name: &str) -> bool {
    pattern.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
