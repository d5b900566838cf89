//! Gathers and scatters that read the caller's indices directly, for contiguous arrays and contiguous 64-bit
//! indices. Other integer types of numpy are cast.
//!
//! All other calls are planned, which converts indices to a table. For single elements this takes longer than
//! the move.

use numpy::Element;
use pyo3::prelude::*;
use trundle::ops::IndexMode;
use trundle::{Along, Error, OpError};

use crate::array::Class;
use crate::error::refused;
use crate::memory::{Extent, Memory, PerAxis};
use crate::moved::copied;
use crate::place::Place;
use crate::run::run_of;
use crate::tensor::{Output, Tensor};

/// Rows of at least this many bytes are planned: streaming stores gain more than the table costs (measured:
/// rows of 256 bytes take 50 ms with a plan and 21 ms without, rows of 4 KiB 9 ms and 17 ms).
const MOST_ROW_BYTES: usize = 2 << 10;

/// The array, the axis and the indices of a call.
pub(crate) struct Lent<'a, 'py> {
    x: &'a Tensor<'py>,
    axis: usize,
    indices: Tensor<'py>,
}

/// The memory that is read, the indices, and the memory that is written.
struct Ends {
    read: Extent,
    indices: Extent,
    written: Extent,
}

// SAFETY: only addresses; the caller holds the arrays during the call.
unsafe impl Send for Ends {}

impl Ends {
    fn run(
        self,
        work: impl FnOnce(&[u8], &[i64], &mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Ends { read, indices, written } = self;
        // SAFETY: the extents are the bytes of arrays that the caller holds; indices are contiguous and
        // aligned, and the written extent overlaps neither of the others. If another thread writes to an array
        // that is read, elements may be torn or wrong, but none is read from outside the array.
        unsafe {
            work(
                std::slice::from_raw_parts(read.start, read.bytes),
                std::slice::from_raw_parts(indices.start.cast(), indices.bytes / size_of::<i64>()),
                std::slice::from_raw_parts_mut(written.start, written.bytes),
            )
        }
    }
}

impl<'a, 'py> Lent<'a, 'py> {
    /// Returns the call if it can run directly. `axis` is a valid axis of `x`.
    pub(crate) fn of(
        x: &'a Tensor<'py>,
        axis: i64,
        indices: &Bound<'py, PyAny>,
    ) -> Option<Lent<'a, 'py>> {
        let axis = usize::try_from(axis).ok()?;
        let fits = |read: &Tensor<'py>| {
            let Memory { place, .. } = read.memory;
            matches!(place, Place::Cpu) && !read.memory.is_empty() && read.memory.is_contiguous()
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
        Some(Lent { x, axis, indices })
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
        // For an empty axis, the plan reports the errors of each mode.
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

    /// Takes an element for each position from its row, if the other axes have equal sizes.
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

    /// Puts contiguous values into `target`, if the other axes have equal sizes. `target` is `x` itself, or
    /// gets a copy of its elements first.
    pub(crate) fn put_along(
        &self,
        py: Python<'py>,
        values: &Memory,
        target: &Memory,
        threads: Option<usize>,
    ) -> Option<PyResult<()>> {
        let along = self.of_positions()?;
        let indices = &self.indices.memory;
        let fits =
            values.sizes == indices.sizes && values.is_contiguous() && target.is_contiguous();
        if !fits || [values, indices].iter().any(|each| each.may_overlap(target)) {
            return None;
        }
        let put = || {
            if target.first != self.x.memory.first {
                if self.x.memory.may_overlap(target) || target.sizes != self.x.memory.sizes {
                    return Ok(None);
                }
                // Checks the indices first, so that nothing is written on an error.
                let own = threads.unwrap_or_else(trundle::threads);
                let of = |ends: Ends| ends.run(|_, indices, _| along.check_range(indices, own));
                of(self.ends(target.extent(), Extent { bytes: 0, ..target.extent() }))
                    .map_err(|error| refused(py, &placed(error, &indices.sizes)))?;
                copied(py, &self.x.memory, target, threads)?;
            }
            let threads = threads.unwrap_or_else(trundle::threads);
            let ends = self.ends(values.extent(), target.extent());
            let bytes = ends.read.bytes;
            let own = &indices.sizes;
            run_of(py, bytes, move |_| {
                ends.run(|updates, indices, out| along.put_along(out, indices, updates, threads))
                    .map_err(|error| placed(error, own))
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

    fn ends(&self, read: Extent, written: Extent) -> Ends {
        let [read, indices, written] =
            [read, self.indices.memory.extent(), written].map(Extent::on_cpu);
        Ends { read, indices, written }
    }

    /// Runs a call to `out` or to a new array. Returns `None` if `out` does not fit or overlaps what is read.
    fn made(
        &self,
        py: Python<'py>,
        (sizes, out): (&[isize], Option<&Bound<'py, PyAny>>),
        (along, mode, threads): (Along, IndexMode, usize),
        work: impl FnOnce(&[u8], &[i64], &mut [u8]) -> Result<(), Error> + Send,
    ) -> Option<PyResult<Bound<'py, PyAny>>> {
        let run = |written: Extent, is_new: bool| {
            let ends = self.ends(self.x.memory.extent(), written);
            let own = &self.indices.memory.sizes;
            run_of(py, written.bytes, move |_| {
                ends.run(|read, indices, written| {
                    // Checks the indices first, so that nothing is written to the caller's array on an error.
                    if !is_new && mode == IndexMode::Raise {
                        along.check_range(indices, threads)?;
                    }
                    work(read, indices, written)
                })
                .map_err(|error| placed(error, own))
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
        let target = Tensor::to_write("out", out, self.x).ok()?.memory;
        let read = [&self.x.memory, &self.indices.memory];
        let fits = target.sizes[..] == *sizes && target.is_contiguous();
        if !fits || read.iter().any(|each| each.may_overlap(&target)) {
            return None;
        }
        Some(run(target.extent(), false).map(|()| out.clone()))
    }
}

/// Casts a numpy array of integers to 64 bits; `None` for types that do not fit.
fn of_64_bits<'py>(array: &Bound<'py, PyAny>) -> Option<Tensor<'py>> {
    let dtype = array.getattr("dtype").ok()?;
    let kind: String = dtype.getattr("kind").ok()?.extract().ok()?;
    let bytes: usize = dtype.getattr("itemsize").ok()?.extract().ok()?;
    let is_said = kind == "i" || (kind == "u" && bytes < size_of::<i64>());
    let wanted = (i64::get_dtype(array.py()), "C", "unsafe", false);
    let cast = is_said.then(|| array.call_method1("astype", wanted).ok())??;
    let cast = Tensor::to_read("indices", &cast, Class::Plain).ok()?;
    cast.is_i64().then_some(cast)
}

/// Adds the position among indices of these sizes to an index error.
fn placed(error: Error, sizes: &[isize]) -> Error {
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
