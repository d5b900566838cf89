//! Arrays of other libraries, which share their memory through DLPack.
//!
//! Arrays are read through `__dlpack__`, and not through the faster table of C functions that some libraries have: the
//! table returns the stored memory even if an operation is deferred, such as PyTorch's conjugation. Only for PyTorch,
//! `torch.rs` checks for such operations and then uses the table. Results become arrays through the table if there is
//! one.

use std::ffi::c_void;
use std::sync::Arc;

use dlpark::allocation::dynamic::Allocation;
use dlpark::ffi::{DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::python::consumer::exchange::ExchangeApi;
use dlpark::python::{DlpackExporter, ExportRequest, ImportedDlpack, export_dlpack, from_dlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::device::{ArrayDevice, Gpu, ordinal};
use crate::library::Library;
use crate::memory::{ArrayMemory, PerAxis};
use crate::recycled::Block;
use crate::torch::Torch;

/// The CPU, as `__dlpack_device__` returns it.
const CPU: (i32, i32) = (1, 0);

/// Their arrays are immutable, although DLPack does not mark them as read-only.
const IMMUTABLE: [&str; 3] = ["jax", "jaxlib", "tensorflow"];

pub(crate) fn is_foreign(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(Torch::of(object).is_some() || object.hasattr(intern!(object.py(), "__dlpack__"))?)
}

/// Keeps an array alive while its memory is used.
pub(crate) struct Foreign<'py> {
    object: Bound<'py, PyAny>,
    imported: ImportedDlpack,
    dtype: DLDataType,
    torch: Option<&'static Torch>,
}

impl std::fmt::Debug for Foreign<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foreign").field("object", &self.object).finish_non_exhaustive()
    }
}

impl<'py> Foreign<'py> {
    /// Imports an array.
    ///
    /// # Errors
    /// ValueError for an array on an unsupported device, TypeError for elements that are not whole bytes, and
    /// exceptions of the other library.
    pub(crate) fn import(
        argument: &str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<(Foreign<'py>, ArrayMemory)> {
        let torch = Torch::of(object);
        let plain = torch.and_then(|torch| torch.import(object));
        let (imported, stream) = match plain {
            Some(plain) => plain,
            None => (shared(argument, object)?, None),
        };
        let invalid = |error: dlpark::tensor::Error| PyBufferError::new_err(error.to_string());
        let tensor = imported.validate().map_err(invalid)?;
        let dtype = tensor.dtype();
        let width = width(dtype).ok_or_else(|| {
            PyTypeError::new_err(format!("{argument} has elements that are not whole bytes"))
        })?;
        let sizes: PerAxis<isize> = tensor.shape().iter().map(|size| *size as isize).collect();
        let strides = tensor.strides_or_compact().map_err(invalid)?;
        let strides: PerAxis<isize> = strides
            .iter()
            .map(|stride| (*stride as isize).wrapping_mul(width.cast_signed()))
            .collect();
        // SAFETY: the pointer is not dereferenced here.
        let first = unsafe { tensor.offset_bytes_ptr() }.map_err(invalid)?.cast_mut();
        let device = device_of(argument, object, tensor.device(), stream)?;
        let memory = ArrayMemory { first, sizes, strides, width, device };
        Ok((Foreign { object: object.clone(), imported, dtype, torch }, memory))
    }

    pub(crate) fn object(&self) -> &Bound<'py, PyAny> {
        &self.object
    }

    pub(crate) fn dtype(&self) -> DLDataType {
        self.dtype
    }

    /// Checks that `self` has the dtype of `other`.
    ///
    /// # Errors
    /// TypeError if the dtypes differ.
    pub(crate) fn check_dtype(&self, argument: &str, other: &Foreign<'_>) -> PyResult<()> {
        if self.dtype == other.dtype {
            return Ok(());
        }
        let name = |foreign: &Foreign<'_>| {
            let dtype = foreign.object.getattr("dtype").and_then(|dtype| dtype.str());
            dtype.map_or_else(|_| "another".to_owned(), |name| name.to_string())
        };
        Err(PyTypeError::new_err(format!(
            "{argument} has elements of type {}, not {}: trundle does not cast",
            name(self),
            name(other)
        )))
    }

    /// Checks that the array has the dtype. Its library compares them.
    ///
    /// # Errors
    /// TypeError if the dtypes differ.
    pub(crate) fn check_dtype_is(&self, argument: &str, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
        let own = self.object.getattr("dtype")?;
        match own.eq(dtype)? {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "{argument} has elements of type {own}, not {dtype}: trundle does not cast"
            ))),
        }
    }

    /// Checks that the array is writable.
    ///
    /// # Errors
    /// ValueError if the array is read-only or immutable, or if the library shares a copy of its memory.
    pub(crate) fn check_writable(&self, argument: &str) -> PyResult<()> {
        let is_shared_to_read =
            self.imported.flags().intersects(DlpackFlags::READ_ONLY | DlpackFlags::IS_COPIED);
        let is_immutable =
            || self.torch.is_none() && IMMUTABLE.contains(&&*package(&self.object.get_type()));
        if is_shared_to_read || is_immutable() {
            return Err(PyValueError::new_err(format!("{argument} array is read-only")));
        }
        Ok(())
    }
}

/// Imports an array by its method `__dlpack__`.
///
/// # Errors
/// As [`Foreign::import`].
fn shared(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<ImportedDlpack> {
    refuse_references(argument, object)?;
    let device = object.call_method0(intern!(object.py(), "__dlpack_device__"))?;
    let (kind, device_id): (i32, i32) = device.extract()?;
    let device = DLDevice { device_type: DLDeviceType(kind.cast_unsigned()), device_id };
    let is_on_gpu = ordinal(device).is_some() && Library::of(object).is_some();
    if device != DLDevice::CPU && !is_on_gpu {
        return Err(not_reached(argument, device));
    }
    from_dlpack(capsule(object, is_on_gpu)?.as_borrowed(), None, None)
}

/// The device is not supported, or not for arrays of this library.
fn not_reached(argument: &str, device: DLDevice) -> PyErr {
    PyValueError::new_err(format!(
        "{argument} is on a device of DLPack's type {}: trundle moves arrays in CPU memory, and PyTorch tensors and CuPy arrays on NVIDIA GPUs",
        device.device_type.0
    ))
}

/// Returns the device of an array. `stream` is the library's current stream, if known.
///
/// # Errors
/// ValueError for a device that is not supported, and exceptions of the library when it is asked for its stream.
fn device_of(
    argument: &str,
    object: &Bound<'_, PyAny>,
    device: DLDevice,
    stream: Option<*mut c_void>,
) -> PyResult<ArrayDevice> {
    if device == DLDevice::CPU {
        return Ok(ArrayDevice::Cpu);
    }
    let (Some(ordinal), Some(library)) = (ordinal(device), Library::of(object)) else {
        return Err(not_reached(argument, device));
    };
    let stream = stream.map_or_else(|| library.stream(object.py(), ordinal), Ok)?;
    Ok(ArrayDevice::Gpu(Gpu { ordinal, stream }))
}

/// Refuses TensorFlow tensors of strings or resources, whose `__dlpack__` aborts the process.
///
/// # Errors
/// TypeError for a tensor of strings or resources.
fn refuse_references(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if package(&object.get_type()) != "tensorflow" {
        return Ok(());
    }
    let py = object.py();
    let dtype = object.getattr(intern!(py, "dtype"))?;
    // Resources have no numpy dtype.
    match dtype.getattr(intern!(py, "as_numpy_dtype")) {
        Ok(of_numpy) if !of_numpy.is(py.get_type::<PyAny>()) => Ok(()),
        _ => Err(PyTypeError::new_err(format!(
            "{argument} has elements of type {}, which are references; trundle moves plain bytes",
            dtype.getattr(intern!(py, "name"))?
        ))),
    }
}

/// Empty if unknown.
pub(crate) fn package(class: &Bound<'_, PyType>) -> String {
    let module = class.module().and_then(|module| module.to_str().map(str::to_owned));
    module.unwrap_or_default().split('.').next().unwrap_or_default().to_owned()
}

/// The bytes of an element; `None` if it has no whole number of bytes.
fn width(dtype: DLDataType) -> Option<usize> {
    let bits = usize::from(dtype.bits) * usize::from(dtype.lanes);
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// Calls `__dlpack__`. A GPU needs no synchronisation, because the move runs on the library's stream.
///
/// # Errors
/// BufferError for a tensor that requires a gradient, has no memory or has its negative bit set. Also the exceptions of
/// the other library.
fn capsule<'py>(object: &Bound<'py, PyAny>, is_on_gpu: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    // States that PyTorch's `__dlpack__` does not check, by attribute or method.
    let special = [
        (
            intern!(py, "requires_grad"),
            "the tensor requires a gradient: use the functions of trundle.torch, or tensor.detach()",
        ),
        (intern!(py, "is_meta"), "a tensor on the device meta has no elements to move"),
        (intern!(py, "is_neg"), "the tensor's negative bit is set: use resolve_neg()"),
        (
            intern!(py, "_is_zerotensor"),
            "the tensor is zero without memory of its own: use clone()",
        ),
    ];
    for (state, message) in special {
        let Some(mut is_set) = object.getattr_opt(state)? else { continue };
        if is_set.is_callable() {
            is_set = is_set.call0()?;
        }
        if is_set.is_truthy()? {
            return Err(PyBufferError::new_err(message));
        }
    }
    let older = PyDict::new(py);
    if is_on_gpu {
        older.set_item("stream", -1)?;
    }
    let named = older.copy()?;
    named.set_item("max_version", (1, 1))?;
    match object.call_method(intern!(py, "__dlpack__"), (), Some(&named)) {
        // Older libraries do not accept `max_version`.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method(intern!(py, "__dlpack__"), (), Some(&older))
        }
        given => given,
    }
}

/// Converts a result to an array of the library.
pub(crate) enum Maker<'py> {
    Exchange(ExchangeApi),
    Known(&'static ExchangeApi),
    /// The library's `from_dlpack`.
    Function(Bound<'py, PyAny>),
    /// A `from_dlpack` that takes a capsule, as in TensorFlow.
    OfCapsule(Bound<'py, PyAny>),
}

/// Returns the module with the functions for an array: its Array API namespace, or the package of its class.
///
/// # Errors
/// The exceptions of Python if there is no such module.
pub(crate) fn home<'py>(like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    match like.getattr_opt(intern!(py, "__array_namespace__"))? {
        Some(namespace) => namespace.call0(),
        None => Ok(py.import(package(&like.get_type()))?.into_any()),
    }
}

impl<'py> Maker<'py> {
    /// Finds the function of the array's class, of its Array API namespace, or of the package of its class.
    ///
    /// # Errors
    /// TypeError if there is no such function.
    pub(crate) fn of(like: &Foreign<'py>) -> PyResult<Maker<'py>> {
        let Foreign { object: like, torch, .. } = like;
        let py = like.py();
        if let Some(torch) = torch {
            return Ok(torch.maker(py));
        }
        if let Some(api) = ExchangeApi::from_object(like.as_borrowed())? {
            return Ok(Maker::Exchange(api));
        }
        let home = home(like)?;
        if let Some(function) = home.getattr_opt(intern!(py, "from_dlpack"))? {
            return Ok(Maker::Function(function));
        }
        // TensorFlow has it in `experimental.dlpack`.
        let dlpack = home
            .getattr_opt(intern!(py, "experimental"))?
            .and_then(|experimental| experimental.getattr("dlpack").ok());
        match dlpack.and_then(|dlpack| dlpack.getattr("from_dlpack").ok()) {
            Some(function) => Ok(Maker::OfCapsule(function)),
            None => Err(PyTypeError::new_err(format!(
                "no array of class {} can be made, since {home} has no from_dlpack",
                like.get_type().name()?
            ))),
        }
    }

    /// Converts a result, without a copy if the library supports it.
    ///
    /// # Errors
    /// The exceptions of the library.
    pub(crate) fn make(
        &self,
        py: Python<'py>,
        block: Block,
        sizes: &[isize],
        dtype: DLDataType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sizes = sizes.iter().map(|size| *size as i64).collect();
        let owner = Arc::new(DlpackOwner { block, sizes, dtype });
        match self {
            Maker::Exchange(api) => api.managed_tensor_to_py_object_no_sync(managed(&owner)?, py),
            Maker::Known(api) => api.managed_tensor_to_py_object_no_sync(managed(&owner)?, py),
            Maker::Function(function) => function.call1((Export { owner },)),
            Maker::OfCapsule(function) => {
                let capsule = Export { owner }.__dlpack__(py, None, None, None, None)?;
                function.call1((capsule,))
            }
        }
    }
}

/// A result, which trundle and the library that imports it own together.
struct DlpackOwner {
    block: Block,
    sizes: PerAxis<i64>,
    dtype: DLDataType,
}

/// Imported through the Array API's protocol.
#[pyclass(frozen, module = "trundle._trundle")]
pub(crate) struct Export {
    owner: Arc<DlpackOwner>,
}

#[pymethods]
impl Export {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let request = ExportRequest::parse(stream, max_version, dl_device, copy)?;
        export_dlpack(self, py, request)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        CPU
    }
}

impl DlpackExporter for Export {
    fn device(&self) -> DLDevice {
        DLDevice::CPU
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, _: Python<'_>, _: &ExportRequest<'_>) -> PyResult<()> {
        Ok(())
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        managed(&self.owner)
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        managed(&self.owner)
    }
}

/// The description keeps the result alive.
fn managed<M: ManagedTensorBase>(owner: &Arc<DlpackOwner>) -> PyResult<Managed<M>> {
    let rank = owner.sizes.len();
    let failed = |error: dlpark::allocation::Error| PyBufferError::new_err(error.to_string());
    let mut allocation = Allocation::<M>::allocate(2 * rank).map_err(failed)?;
    let (sizes, strides) = allocation.extra_mut().split_at_mut(rank);
    sizes.copy_from_slice(&owner.sizes);
    let mut stride = 1i64;
    for (own, size) in strides.iter_mut().zip(&owner.sizes).rev() {
        *own = stride;
        // Strides of an empty tensor are not used.
        stride = stride.wrapping_mul((*size).max(1));
    }
    let mut described = allocation.initialize(Arc::clone(owner), rank).map_err(failed)?;
    let sizes = described.extra_mut().as_mut_ptr();
    described.tensor_mut().shape = sizes;
    described.tensor_mut().strides = sizes.wrapping_add(rank);
    described.set_data(owner.block.start().cast());
    described.set_device(DLDevice::CPU).set_dtype(owner.dtype);
    // SAFETY: the data belongs to the block, which the description keeps alive; it owns its sizes and strides.
    Ok(unsafe { described.finish() })
}
