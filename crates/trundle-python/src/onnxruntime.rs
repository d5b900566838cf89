//! Makes the extension module a library of custom operators for ONNX Runtime.

use pyo3::prelude::*;
use pyo3::types::PyModule;
use trundle_onnxruntime::{OrtApiBase, OrtSessionOptions, OrtStatusPtr, register};

/// The entry point that ONNX Runtime calls in a library of operators.
///
/// # Safety
/// Only ONNX Runtime may call it.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is ONNX Runtime's")]
unsafe extern "system" fn RegisterCustomOps(
    options: *mut OrtSessionOptions,
    base: *const OrtApiBase,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes valid session options and its API.
    unsafe { register(options, base) }
}

/// Returns the path of the library with trundle's operators for ONNX Runtime: `Move`, `Roll`,
/// `ReverseSubsequences` and `Chain`, in the domain ``trundle``.
///
/// docs/models.md lists their inputs, outputs and attributes.
///
/// Returns
/// -------
/// str
///
/// Raises
/// ------
/// AttributeError
///     If this package was not loaded from a file.
///
/// Examples
/// --------
/// >>> import trundle
/// >>> trundle.onnx_library()  # doctest: +SKIP
/// '/home/me/.venv/lib/python3.13/site-packages/trundle/_trundle.abi3.so'
/// >>> options = onnxruntime.SessionOptions()  # doctest: +SKIP
/// >>> options.register_custom_ops_library(trundle.onnx_library())  # doctest: +SKIP
/// >>> session = onnxruntime.InferenceSession("fused.onnx", options)  # doctest: +SKIP
#[pyfunction]
pub(crate) fn onnx_library(py: Python<'_>) -> PyResult<String> {
    PyModule::import(py, "trundle._trundle")?.getattr("__file__")?.extract()
}
