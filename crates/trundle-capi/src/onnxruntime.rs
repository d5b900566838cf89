//! The entry point for ONNX Runtime's libraries of custom operators.

use trundle_onnxruntime::{OrtApiBase, OrtSessionOptions, OrtStatusPtr, register};

/// Registers the operators. ONNX Runtime's `RegisterCustomOpsLibrary` calls this function; it is not in the header.
///
/// # Safety
/// Only ONNX Runtime may call it, with its own options and API.
#[unsafe(no_mangle)]
unsafe extern "system" fn RegisterCustomOps(
    options: *mut OrtSessionOptions,
    base: *const OrtApiBase,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes valid pointers.
    unsafe { register(options, base) }
}
