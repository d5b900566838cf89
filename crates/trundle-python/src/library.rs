//! Libraries with arrays on GPUs: their current streams, and new arrays.

use std::ffi::c_void;

use dlpark::ffi::DLDeviceType;
use pyo3::intern;
use pyo3::prelude::*;

use crate::dlpack::package;

/// Whether an object is an array of a supported library that is not on the CPU.
///
/// # Errors
/// The exceptions of Python.
pub(crate) fn is_on_gpu(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let device = object.getattr_opt(intern!(object.py(), "__dlpack_device__"))?;
    let Some(device) = device.filter(|_| Library::of(object).is_some()) else { return Ok(false) };
    let (kind, _): (i32, i32) = device.call0()?.extract()?;
    Ok(kind != DLDeviceType::CPU.0.cast_signed())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Torch,
    CuPy,
}

impl Library {
    /// The library of an array's class, or of a base class.
    pub(crate) fn of(array: &Bound<'_, PyAny>) -> Option<Library> {
        array.get_type().mro().iter().find_map(|class| match &*package(class.cast().ok()?) {
            "torch" => Some(Library::Torch),
            "cupy" => Some(Library::CuPy),
            _ => None,
        })
    }

    /// This thread's current stream of the library on a GPU, as a `CUstream`.
    ///
    /// # Errors
    /// The exceptions of the library.
    pub(crate) fn stream(self, py: Python<'_>, ordinal: u32) -> PyResult<*mut c_void> {
        let (cuda, current, address) = match self {
            Library::Torch => ("torch.cuda", "current_stream", "cuda_stream"),
            Library::CuPy => ("cupy.cuda", "get_current_stream", "ptr"),
        };
        let stream = py.import(cuda)?.call_method1(current, (ordinal,))?;
        let address: usize = stream.getattr(address)?.extract()?;
        Ok(std::ptr::with_exposed_provenance_mut(address))
    }

    /// A contiguous array with the dtype of `like`, on its GPU.
    ///
    /// # Errors
    /// The exceptions of the library, for example if it is out of memory.
    pub(crate) fn new_like<'py>(
        self,
        like: &Bound<'py, PyAny>,
        sizes: &[isize],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = like.py();
        match self {
            Library::Torch => like.call_method1(intern!(py, "new_empty"), (sizes,)),
            Library::CuPy => {
                // CuPy allocates on the current GPU.
                let device = like.getattr(intern!(py, "device"))?;
                device.call_method0(intern!(py, "__enter__"))?;
                let dtype = like.getattr(intern!(py, "dtype"))?;
                let made = py.import("cupy")?.call_method1(intern!(py, "empty"), (sizes, dtype));
                device.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
                made
            }
        }
    }
}
