//! Objects without elements that libraries pass instead of arrays while they trace a function.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::dlpack;

const PURE_CALLBACK: &str = "call trundle through jax.pure_callback";
const CUSTOM_OP: &str = "call the function of that name in trundle.torch, or exclude the call by torch.compiler.disable";
const RULES: &str = "call the function of that name in trundle.torch";
const NUMPY_FUNCTION: &str = "call trundle through tf.numpy_function";

/// Package, end of the class name, tracing function, and how to call trundle there. The first match counts.
const TRACERS: [(&str, &str, &str, &str); 12] = [
    ("jax", "DynamicJaxprTracer", "jax.jit", PURE_CALLBACK),
    ("jax", "BatchTracer", "jax.vmap", PURE_CALLBACK),
    ("jax", "JVPTracer", "jax.jvp or jax.grad", PURE_CALLBACK),
    ("jax", "LinearizeTracer", "jax.grad or jax.linearize", PURE_CALLBACK),
    ("jax", "Tracer", "jax", PURE_CALLBACK),
    ("torch", "FakeTensor", "torch.export or torch.compile", CUSTOM_OP),
    ("torch", "FunctionalTensor", "torch.export", CUSTOM_OP),
    ("torch", "Proxy", "torch.fx", CUSTOM_OP),
    ("torch", "Tensor", "torch.func (vmap, grad, jvp)", RULES),
    ("torch", "Parameter", "torch.func (vmap, grad, jvp)", RULES),
    ("tensorflow", "SymbolicTensor", "tf.function", NUMPY_FUNCTION),
    ("keras", "KerasTensor", "a Keras model", NUMPY_FUNCTION),
];

/// Called only after another error, because checking every array would take longer than some moves.
pub(crate) fn refusal(argument: &str, object: &Bound<'_, PyAny>) -> Option<PyErr> {
    let class = object.get_type();
    let package = dlpack::package(&class);
    let name = class.name().ok()?.to_string();
    let package = if package == "jaxlib" { "jax" } else { &*package };
    let (_, ending, by, instead) =
        TRACERS.iter().find(|(home, ending, ..)| package == *home && name.ends_with(ending))?;
    // Wrappers of torch.func have torch's own class.
    if matches!(*ending, "Tensor" | "Parameter") && !is_wrapped_by_torch(object) {
        return None;
    }
    Some(PyTypeError::new_err(format!(
        "{argument} is traced by {by} (class {name}) and has no elements to move: {instead}"
    )))
}

fn is_wrapped_by_torch(object: &Bound<'_, PyAny>) -> bool {
    let is_wrapped = object
        .py()
        .import("torch._C._functorch")
        .and_then(|module| module.call_method1("is_functorch_wrapped_tensor", (object,)))
        .and_then(|answer| answer.is_truthy());
    is_wrapped.unwrap_or(false)
}
