//! Elements where they are to lie: copies of any view, and axes split and merged.

use std::fmt::Write;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use crate::array::Class;
use crate::memory::{Memory, PerAxis};
use crate::moved::{copied, moved};
use crate::numbers;
use crate::operation::Operation;
use crate::tensor::Tensor;

#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, threads=None))]
pub(crate) fn ascontiguousarray<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (mut x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
    if x.memory.sizes.is_empty() {
        // numpy's function of this name has arrays of one axis and more only.
        x.memory.sizes.push(1);
        x.memory.strides.push(x.memory.width.cast_signed());
    }
    moved(py, &Operation::Copy, &x, out, threads)
}

#[pyfunction]
#[pyo3(signature = (dst, src, /, *, threads=None))]
pub(crate) fn copyto<'py>(
    dst: &Bound<'py, PyAny>,
    src: &Bound<'py, PyAny>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<()> {
    let py = dst.py();
    let (src, threads) = (Tensor::to_read("src", src, Class::Plain)?, numbers::threads(threads)?);
    let dst = Tensor::to_write("dst", dst, &src)?;
    let broadcast = broadcast(&src.memory, &dst.memory.sizes)?;
    copied(py, &broadcast, &dst.memory, threads)
}

/// The same elements for every index of new axes in front, and of axes of size 1.
fn broadcast(src: &Memory, sizes: &[isize]) -> PyResult<Memory> {
    let extra = src.sizes.len().saturating_sub(sizes.len());
    let fits = |(own, size): (&isize, &isize)| own == size || *own == 1;
    let kept = &src.sizes[extra..];
    let new = sizes.len() - kept.len();
    if src.sizes[..extra].iter().any(|size| *size != 1) || !kept.iter().zip(&sizes[new..]).all(fits) {
        let message = format!(
            "could not broadcast src of shape {:?} into dst of shape {sizes:?}",
            src.sizes.as_slice()
        );
        return Err(PyValueError::new_err(message));
    }
    let mut strides: PerAxis<isize> = SmallVec::from_elem(0, new);
    let spread = kept.iter().zip(&src.strides[extra..]).zip(&sizes[new..]);
    strides.extend(spread.map(|((own, stride), size)| if own == size { *stride } else { 0 }));
    Ok(Memory { first: src.first, sizes: sizes.into(), strides, width: src.width })
}

#[pyfunction]
#[pyo3(signature = (x, pattern, /, **sizes))]
pub(crate) fn rearrange<'py>(
    x: &Bound<'py, PyAny>,
    pattern: &str,
    sizes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let x = Tensor::to_read("x", x, Class::Plain)?;
    if !pattern.contains("->") || pattern.contains(['|', ',']) {
        let message = format!("rearrange takes one pattern, as 'h w c -> c h w', not {pattern:?}");
        return Err(PyValueError::new_err(message));
    }
    let mut text = pattern.to_owned();
    for (name, size) in sizes.into_iter().flatten() {
        let size: i64 = size.extract()?;
        let _ = write!(text, ", {name}={size}");
    }
    moved(py, &Operation::Rearrange(text), &x, None, None)
}
