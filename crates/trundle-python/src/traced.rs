//! Arrays without elements: what tracers of other libraries give in place of one.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::dlpack;

/// A kind of tracer: the package and the class, who traces, and how to call trundle there.
struct Tracer {
    package: &'static str,
    /// The name of the class, or its end.
    class: &'static str,
    by: &'static str,
    instead: &'static str,
}

const PURE_CALLBACK: &str = "call trundle through jax.pure_callback";
const CUSTOM_OP: &str = "wrap the call in a custom operator of torch.library, or leave it to Python \
                         by torch.compiler.disable";
const RULES: &str = "wrap the call in a custom operator of torch.library that has rules for it";
const NUMPY_FUNCTION: &str = "call trundle through tf.numpy_function";

/// The first row that fits counts.
const TRACERS: [Tracer; 12] = [
    Tracer { package: "jax", class: "DynamicJaxprTracer", by: "jax.jit", instead: PURE_CALLBACK },
    Tracer { package: "jax", class: "BatchTracer", by: "jax.vmap", instead: PURE_CALLBACK },
    Tracer {
        package: "jax",
        class: "JVPTracer",
        by: "jax.jvp or jax.grad",
        instead: PURE_CALLBACK,
    },
    Tracer {
        package: "jax",
        class: "LinearizeTracer",
        by: "jax.grad or jax.linearize",
        instead: PURE_CALLBACK,
    },
    Tracer { package: "jax", class: "Tracer", by: "jax", instead: PURE_CALLBACK },
    Tracer {
        package: "torch",
        class: "FakeTensor",
        by: "torch.export or torch.compile",
        instead: CUSTOM_OP,
    },
    Tracer { package: "torch", class: "FunctionalTensor", by: "torch.export", instead: CUSTOM_OP },
    Tracer { package: "torch", class: "Proxy", by: "torch.fx", instead: CUSTOM_OP },
    Tracer {
        package: "torch",
        class: "Tensor",
        by: "torch.func (vmap, grad, jvp)",
        instead: RULES,
    },
    Tracer {
        package: "torch",
        class: "Parameter",
        by: "torch.func (vmap, grad, jvp)",
        instead: RULES,
    },
    Tracer {
        package: "tensorflow",
        class: "SymbolicTensor",
        by: "tf.function",
        instead: NUMPY_FUNCTION,
    },
    Tracer { package: "keras", class: "KerasTensor", by: "a Keras model", instead: NUMPY_FUNCTION },
];

/// The error for an array that is traced, if `object` is one. Asked once something else has failed: to
/// ask every array would take longer than some moves.
pub(crate) fn refusal(argument: &str, object: &Bound<'_, PyAny>) -> Option<PyErr> {
    let class = object.get_type();
    let package = dlpack::package(&class);
    let name = class.name().ok()?.to_string();
    let tracer = TRACERS
        .iter()
        .find(|tracer| package_fits(&package, tracer.package) && name.ends_with(tracer.class))?;
    // What torch.func wraps has torch's own class.
    if matches!(tracer.class, "Tensor" | "Parameter") && !is_wrapped_by_torch(object) {
        return None;
    }
    Some(PyTypeError::new_err(format!(
        "{argument} is traced by {} (class {name}), and has no elements to move: {}",
        tracer.by, tracer.instead
    )))
}

fn package_fits(package: &str, wanted: &str) -> bool {
    package == wanted || (wanted == "jax" && package == "jaxlib")
}

fn is_wrapped_by_torch(object: &Bound<'_, PyAny>) -> bool {
    let asked = object
        .py()
        .import("torch._C._functorch")
        .and_then(|module| module.call_method1("is_functorch_wrapped_tensor", (object,)))
        .and_then(|answer| answer.is_truthy());
    asked.unwrap_or(false)
}
