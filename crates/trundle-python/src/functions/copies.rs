//! Functions that copy strided arrays, and einops patterns.

use std::fmt::Write;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use smallvec::SmallVec;

use crate::array::Class;
use crate::memory::{ArrayMemory, PerAxis};
use crate::moved::{copied, moved};
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

/// Copies `x` to a new C-contiguous array.
///
/// `x` may have any strides: negative ones (``x[::-1]``), zeros (``np.broadcast_to``), and any order of axes.
///
/// Parameters
/// ----------
/// x : array_like
///     Any dtype, except object dtypes and MaskedArray. An array without axes becomes an array with one axis, as in
///     numpy.
/// dtype : dtype_like, optional
///     The dtype of `x`. The parameter exists for compatibility with numpy; nothing is cast.
/// out, threads
///     See `help(trundle)`.
///
/// Returns
/// -------
/// array of the kind, shape and dtype of `x`; for a subclass of numpy.ndarray, the base class
///
/// Raises
/// ------
/// ValueError
///     If `out` does not fit.
/// TypeError
///     If `dtype` is not the dtype of `x`, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``numpy.ascontiguousarray``, but always copies: numpy returns `x` itself if it is contiguous.
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

/// Copies the elements of `src` to `dst`. Both may have any strides.
///
/// Parameters
/// ----------
/// dst : array
///     The destination. It must be writable, and its elements must not overlap each other.
/// src : array_like
///     An array with the dtype of `dst`, and with its shape or a shape that broadcasts to it. It may overlap `dst`; the
///     result is the same as if `src` was copied first.
/// casting : str, optional
///     One of numpy's casting rules. The parameter exists for compatibility with numpy; nothing is cast.
/// where : bool, optional
///     Must be True.
/// threads : int, optional
///     See `help(trundle)`.
///
/// Returns
/// -------
/// None
///
/// Raises
/// ------
/// ValueError
///     If `src` does not broadcast to the shape of `dst`, or if `dst` is read-only or has overlapping elements.
/// TypeError
///     If the dtypes differ or hold objects, or if `where` is a mask.
///
/// Notes
/// -----
/// As ``numpy.copyto``, but without casting and masks.
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

/// Checks that `casting` is one of numpy's casting rules.
///
/// # Errors
/// ValueError for any other value.
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

/// Checks that `where` is True.
///
/// # Errors
/// TypeError for any other value.
fn check_where(r#where: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match r#where {
        Some(mask) if !mask.is(PyBool::new(mask.py(), true)) => Err(PyTypeError::new_err(
            "where must be True: all elements are copied; use numpy.copyto for a mask",
        )),
        _ => Ok(()),
    }
}

/// New leading axes and repeated axes of size 1 get the stride 0.
fn broadcast(src: &ArrayMemory, sizes: &[isize]) -> PyResult<ArrayMemory> {
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
    Ok(ArrayMemory {
        first: src.first,
        sizes: sizes.into(),
        strides,
        width: src.width,
        device: src.device,
    })
}

/// Splits, permutes and merges axes according to a pattern in the notation of einops.
///
/// Parameters
/// ----------
/// x : array_like
///     Any shape and dtype, except object dtypes and MaskedArray.
/// pattern : str
///     The axes of `x`, an arrow, and the axes of the result. Names in parentheses are one axis, which is split
///     on the left and merged on the right. ``...`` stands for any number of axes. ``1`` and ``()`` stand for an
///     axis of size 1. Each name must occur once on each side.
/// **sizes : int
///     Sizes of axes by name. If an axis is split, all sizes except one must be given.
///
/// Returns
/// -------
/// array of the kind and dtype of `x`, with one axis for each entry on the right of the pattern; for a subclass of
/// numpy.ndarray, the base class
///
/// Raises
/// ------
/// ValueError
///     If the pattern is invalid, does not fit the shape of `x`, or needs more sizes. The message shows the fault.
/// TypeError
///     If `pattern` is not a str, if a size is not an integer, or for a dtype that holds objects.
///
/// Notes
/// -----
/// As ``einops.rearrange``, but returns a copy, not a view. All keywords are sizes of axes. To give ``out`` or
/// ``threads``, make a `chain` of the pattern and call it.
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
                "rearrange() takes the sizes of axes as keywords, and \"{name}\" is not an axis of \
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

/// Extracts the pattern.
///
/// # Errors
/// TypeError if it is not a str.
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

fn has_axis(pattern: &str, name: &str) -> bool {
    pattern.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
