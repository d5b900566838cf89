//! Gathers and scatters that read the caller's indices directly. They need contiguous arrays and contiguous 64-bit
//! indices. numpy's other integers are cast.
//!
//! All other calls convert the indices to a plan's table, which takes longer than a move of single elements.

use numpy::Element;
use pyo3::prelude::*;
use trundle::ops::IndexMode;
use trundle::{Along, Error, OpError};

use crate::array::Class;
use crate::device::ArrayDevice;
use crate::error::refused;
use crate::memory::{ArrayMemory, Extent, PerAxis};
use crate::moved::copied;
use crate::run::{run_of, to_read, to_write};
use crate::tensor::{Output, Tensor};

/// Rows of at least this many bytes are planned: streaming stores gain more than the table costs (measured:
/// rows of 256 bytes take 50 ms with a plan and 21 ms without, rows of 4 KiB 9 ms and 17 ms).
const MOST_ROW_BYTES: usize = 2 << 10;

/// The array, the axis and the indices of a call.
pub(crate) struct DirectGather<'a, 'py> {
    x: &'a Tensor<'py>,
    axis: usize,
    indices: Tensor<'py>,
}

impl<'a, 'py> DirectGather<'a, 'py> {
    /// Returns the call if it can run directly. `axis` is valid.
    pub(crate) fn of(
        x: &'a Tensor<'py>,
        axis: i64,
        indices: &Bound<'py, PyAny>,
    ) -> Option<DirectGather<'a, 'py>> {
        let axis = usize::try_from(axis).ok()?;
        let fits = |read: &Tensor<'py>| {
            let ArrayMemory { device, .. } = read.memory;
            matches!(device, ArrayDevice::Cpu)
                && !read.memory.is_empty()
                && read.memory.is_contiguous()
        };
        if !fits(x) {
            return None;
        }
        let given = Tensor::to_read("indices", indices, Class::Plain).ok()?;
        let is_aligned = given.memory.first.addr().is_multiple_of(align_of::<i64>());
        let indices = match given.is_i64() && is_aligned && fits(&given) {
            true => given,
            false => of_64_bits(indices).filter(fits)?,
        };
        Some(DirectGather { x, axis, indices })
    }

    fn along(&self, count: usize) -> Along {
        let sizes = &self.x.memory.sizes;
        let product = |sizes: &[isize]| sizes.iter().map(|size| size.unsigned_abs()).product();
        Along {
            outer: product(&sizes[..self.axis]),
            size: sizes[self.axis].unsigned_abs(),
            count,
            inner: product(&sizes[self.axis + 1..]),
            width: self.x.memory.width,
        }
    }

    /// Takes the elements at the indices, unless rows are large enough for a plan.
    pub(crate) fn take(
        &self,
        py: Python<'py>,
        mode: IndexMode,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<usize>,
    ) -> Option<PyResult<Bound<'py, PyAny>>> {
        let own = &self.indices.memory.sizes;
        let along = self.along(own.iter().map(|size| size.unsigned_abs()).product());
        // The plan reports errors for an empty axis.
        if along.size == 0 {
            return None;
        }
        if along.inner.saturating_mul(along.width) >= MOST_ROW_BYTES {
            return None;
        }
        let sizes = &self.x.memory.sizes;
        let (before, behind) = (&sizes[..self.axis], &sizes[self.axis + 1..]);
        let sizes: PerAxis<isize> = before.iter().chain(own).chain(behind).copied().collect();
        let threads = threads.unwrap_or_else(trundle::threads);
        self.made(py, (&sizes, out), (along, mode, threads), move |read, indices, written| {
            along.take_in_mode(mode, read, indices, written, threads)
        })
    }

    /// The sizes along all other axes must be equal.
    pub(crate) fn take_along(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<usize>,
    ) -> Option<PyResult<Bound<'py, PyAny>>> {
        let along = self.of_positions()?;
        let threads = threads.unwrap_or_else(trundle::threads);
        self.made(
            py,
            (&self.indices.memory.sizes, out),
            (along, IndexMode::Raise, threads),
            move |read, indices, written| along.take_along(read, indices, written, threads),
        )
    }

    /// Values must be contiguous, and sizes along all other axes equal. `target` is `x`, or gets a copy of it first.
    pub(crate) fn put_along(
        &self,
        py: Python<'py>,
        values: &ArrayMemory,
        target: &ArrayMemory,
        threads: Option<usize>,
    ) -> Option<PyResult<()>> {
        let along = self.of_positions()?;
        let indices = &self.indices.memory;
        let fits =
            values.sizes == indices.sizes && values.is_contiguous() && target.is_contiguous();
        if !fits || [values, indices].iter().any(|each| each.may_overlap(target)) {
            return None;
        }
        let own_threads = threads.unwrap_or_else(trundle::threads);
        let put = || {
            if target.first != self.x.memory.first {
                if self.x.memory.may_overlap(target) || target.sizes != self.x.memory.sizes {
                    return Ok(None);
                }
                // Nothing may be written on an error.
                along
                    .check_range(self.read_indices(), own_threads)
                    .map_err(|error| refused(py, &with_position(error, &indices.sizes)))?;
                copied(py, &self.x.memory, target, threads)?;
            }
            // SAFETY: the caller holds both arrays, and the target overlaps neither the values nor the indices.
            let (updates, out) = unsafe { (to_read(values.extent()), to_write(target.extent())) };
            let (own, sizes) = (self.read_indices(), &indices.sizes);
            run_of(py, updates.len(), move |_| {
                along
                    .put_along(out, own, updates, own_threads)
                    .map_err(|error| with_position(error, sizes))
            })?;
            Ok(Some(()))
        };
        put().transpose()
    }

    fn of_positions(&self) -> Option<Along> {
        let (own, sizes) = (&self.indices.memory.sizes, &self.x.memory.sizes);
        let is_alike = |axis: usize| axis == self.axis || own[axis] == sizes[axis];
        let fits = own.len() == sizes.len() && (0..own.len()).all(is_alike);
        fits.then(|| self.along(own[self.axis].unsigned_abs()))
    }

    fn read_indices(&self) -> &[i64] {
        let Extent { start, bytes, .. } = self.indices.memory.extent().on_cpu();
        // SAFETY: the indices are contiguous and aligned, and held by this call. If another thread writes to them,
        // they may be wrong, but none is used without a check.
        unsafe { std::slice::from_raw_parts(start.cast(), bytes / size_of::<i64>()) }
    }

    /// `None` if `out` does not fit or overlaps what is read.
    fn made(
        &self,
        py: Python<'py>,
        (sizes, out): (&[isize], Option<&Bound<'py, PyAny>>),
        (along, mode, threads): (Along, IndexMode, usize),
        work: impl FnOnce(&[u8], &[i64], &mut [u8]) -> Result<(), Error> + Send,
    ) -> Option<PyResult<Bound<'py, PyAny>>> {
        let run = |written: Extent, is_new: bool| {
            let (own, sizes) = (self.read_indices(), &self.indices.memory.sizes);
            // SAFETY: the caller holds both arrays, and the written one overlaps neither the other nor the indices.
            let (read, written) = unsafe { (to_read(self.x.memory.extent()), to_write(written)) };
            run_of(py, written.len(), move |_| {
                // Nothing may be written to the caller's array on an error.
                let checked = match !is_new && mode == IndexMode::Raise {
                    true => along.check_range(own, threads),
                    false => Ok(()),
                };
                checked
                    .and_then(|()| work(read, own, written))
                    .map_err(|error| with_position(error, sizes))
            })
        };
        let Some(out) = out else {
            let made = || {
                let (output, extent) = Output::like(self.x, sizes)?;
                run(extent, true)?;
                output.finish(py)
            };
            return Some(made());
        };
        // `written` keeps the memory of `target` alive.
        let written = Tensor::to_write("out", out, self.x).ok()?;
        let target = &written.memory;
        let read = [&self.x.memory, &self.indices.memory];
        let fits = target.sizes[..] == *sizes && target.is_contiguous();
        if !fits || read.iter().any(|each| each.may_overlap(target)) {
            return None;
        }
        Some(run(target.extent(), false).map(|()| out.clone()))
    }
}

/// Casts to 64 bits; `None` for types that do not fit.
fn of_64_bits<'py>(array: &Bound<'py, PyAny>) -> Option<Tensor<'py>> {
    let dtype = array.getattr("dtype").ok()?;
    let kind: String = dtype.getattr("kind").ok()?.extract().ok()?;
    let bytes: usize = dtype.getattr("itemsize").ok()?.extract().ok()?;
    let fits = kind == "i" || (kind == "u" && bytes < size_of::<i64>());
    let wanted = (i64::get_dtype(array.py()), "C", "unsafe", false);
    let cast = fits.then(|| array.call_method1("astype", wanted).ok())??;
    let cast = Tensor::to_read("indices", &cast, Class::Plain).ok()?;
    cast.is_i64().then_some(cast)
}

/// Adds the position among indices of these sizes to an index error.
fn with_position(error: Error, sizes: &[isize]) -> Error {
    match error {
        Error::Op(OpError::IndexOutOfRange { index, position, size }) => {
            let mut rest = position.first().copied().unwrap_or(0);
            let mut position = vec![0; sizes.len()];
            for (at, own) in position.iter_mut().zip(sizes).rev() {
                let own = own.unsigned_abs().max(1);
                (*at, rest) = (rest % own, rest / own);
            }
            Error::Op(OpError::IndexOutOfRange { index, position, size })
        }
        error => error,
    }
}
