//! PyTorch tensors through C functions. The Python functions that every library has, `__dlpack__` and `from_dlpack`,
//! take twenty times as long as a small move.
//!
//! The C functions return the stored memory of a tensor even if it has a conjugate, negative or gradient flag, so the
//! flags are checked here. If a flag is set or an error occurs, `__dlpack__` reads the tensor.

use std::ffi::c_void;

use dlpark::ffi::{DLDataTypeCode, DLDevice};
use dlpark::python::consumer::exchange::ExchangeApi;
use dlpark::python::{ImportedDlpack, from_dlpack};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::device::ordinal;
use crate::dlpack::{Maker, package};
use crate::lazy::Lazy;

/// The parts of PyTorch that are needed, looked up once.
pub(crate) struct Torch {
    tensor: Py<PyType>,
    /// The layout of strided tensors.
    strided: Py<PyAny>,
    /// Counts active dispatch modes, such as tracers.
    modes: Py<PyAny>,
    functions: Functions,
}

enum Functions {
    /// The table of C functions that PyTorch has since version 2.10.
    Table(Table),
    Capsules {
        to_dlpack: Py<PyAny>,
        from_dlpack: Py<PyAny>,
    },
}

struct Table(ExchangeApi);

// SAFETY: according to DLPack, such a table is never freed, and it is only read.
unsafe impl Send for Table {}
// SAFETY: as for Send.
unsafe impl Sync for Table {}

impl Torch {
    /// Returns PyTorch if `object` is a plain tensor.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Option<&'static Torch> {
        static TORCH: Lazy<Torch> = Lazy::new();
        let (py, class) = (object.py(), object.get_type());
        match TORCH.get(py) {
            Some(torch) => class.is(&torch.tensor).then_some(torch),
            None if package(&class) != "torch" => None,
            None => TORCH.get_or_make(py, || Torch::find(object)).ok(),
        }
    }

    /// Looks up the functions of PyTorch.
    ///
    /// # Errors
    /// TypeError if `tensor` is not a plain tensor; exceptions of Python.
    fn find(tensor: &Bound<'_, PyAny>) -> PyResult<Torch> {
        let (torch, class) = (tensor.py().import("torch")?, tensor.get_type());
        if !torch.getattr("Tensor")?.is(&class) {
            return Err(PyTypeError::new_err("a class of other tensors"));
        }
        let functions = match ExchangeApi::from_object(tensor.as_borrowed())? {
            Some(table) => Functions::Table(Table(table)),
            None => Functions::Capsules {
                to_dlpack: torch.getattr("to_dlpack")?.unbind(),
                from_dlpack: torch.getattr("from_dlpack")?.unbind(),
            },
        };
        let strided = torch.getattr("strided")?.unbind();
        let modes = torch.getattr("_C")?.getattr("_len_torch_dispatch_stack")?.unbind();
        Ok(Torch { tensor: class.unbind(), strided, modes, functions })
    }

    /// Imports a tensor; for a GPU, also returns PyTorch's current stream there. Returns `None` for a tensor
    /// that should be imported by `__dlpack__`.
    pub(crate) fn import(
        &self,
        tensor: &Bound<'_, PyAny>,
    ) -> Option<(ImportedDlpack, Option<*mut c_void>)> {
        let py = tensor.py();
        let is = |name| tensor.call_method0(name)?.is_truthy();
        let is_special = self.modes.bind(py).call0().ok()?.is_truthy().ok()?
            || tensor.getattr(intern!(py, "requires_grad")).ok()?.is_truthy().ok()?
            || !tensor.getattr(intern!(py, "layout")).ok()?.is(&self.strided)
            || is(intern!(py, "is_neg")).ok()?
            || is(intern!(py, "_is_zerotensor")).ok()?;
        if is_special {
            return None;
        }
        let (imported, stream) = match &self.functions {
            Functions::Table(Table(table)) => {
                let shared = table.import_managed_no_sync(tensor.as_borrowed()).ok()?;
                let (shared, stream) = shared.into_parts();
                (ImportedDlpack::Versioned(shared), Some(stream))
            }
            Functions::Capsules { to_dlpack, .. } => {
                let capsule = to_dlpack.bind(py).call1((tensor,)).ok()?;
                (from_dlpack(capsule.as_borrowed(), None, None).ok()?, None)
            }
        };
        let shared = imported.validate().ok()?;
        let (device, dtype) = (shared.device(), shared.dtype());
        let is_reached = device == DLDevice::CPU || ordinal(device).is_some();
        let is_conj =
            || dtype.code == DLDataTypeCode::COMPLEX && is(intern!(py, "is_conj")).unwrap_or(true);
        (is_reached && !is_conj()).then_some((imported, stream))
    }

    /// Converts a result to a tensor.
    pub(crate) fn maker<'py>(&'static self, py: Python<'py>) -> Maker<'py> {
        match &self.functions {
            Functions::Table(Table(table)) => Maker::Known(table),
            Functions::Capsules { from_dlpack, .. } => {
                Maker::OfCapsule(from_dlpack.bind(py).clone())
            }
        }
    }
}
