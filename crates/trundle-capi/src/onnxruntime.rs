//! The operators of ONNX Runtime, by the function that it looks for in a library of operators.

use trundle_onnxruntime::{OrtApiBase, OrtSessionOptions, OrtStatusPtr, register};

/// What `RegisterCustomOpsLibrary` of ONNX Runtime calls. It is no function of the header: nobody else calls it.
///
/// # Safety
/// ONNX Runtime calls it.
#[unsafe(no_mangle)]
unsafe extern "system" fn RegisterCustomOps(
    options: *mut OrtSessionOptions,
    base: *const OrtApiBase,
) -> OrtStatusPtr {
    // SAFETY: the caller guarantees it, see `# Safety`.
    unsafe { register(options, base) }
}
