//! The function that ONNX Runtime calls when it loads this library for custom operators.

use trundle_onnxruntime::{OrtApiBase, OrtSessionOptions, OrtStatusPtr, register};

/// Registers the custom operators. ONNX Runtime's `RegisterCustomOpsLibrary` calls this function, which is not in the
/// header.
///
/// # Safety
/// Only ONNX Runtime may call this function, with its own options and API.
#[unsafe(no_mangle)]
unsafe extern "system" fn RegisterCustomOps(
    options: *mut OrtSessionOptions,
    base: *const OrtApiBase,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes valid pointers.
    unsafe { register(options, base) }
}
