//! The context of a kernel call.

use std::ptr::{null, null_mut};

use ort_sys::OrtKernelContext;
use trundle::Shape;
use trundle_models::ElementType;

use crate::api::Api;
use crate::failure::{Failure, Result};
use crate::tensor::{Input, Output};

/// A kernel call, with its inputs and outputs.
pub(crate) struct Context {
    pub(crate) api: Api,
    pub(crate) pointer: *mut OrtKernelContext,
}

impl Context {
    /// # Safety
    /// `pointer` must be the context of a kernel call. The value may be used only on the kernel's thread and during
    /// that call.
    pub(crate) unsafe fn new(api: Api, pointer: *mut OrtKernelContext) -> Context {
        Context { api, pointer }
    }

    pub(crate) fn inputs(&self) -> Result<Vec<Input<'_>>> {
        // SAFETY: the context belongs to the current call.
        let count = self.api.get(0, |api, count| unsafe {
            (api.KernelContext_GetInputCount)(self.pointer, count)
        })?;
        (0..count).map(|number| self.input(number)).collect()
    }

    fn input(&self, number: usize) -> Result<Input<'_>> {
        // SAFETY: the context belongs to the current call.
        let value = self.api.get(null(), |api, value| unsafe {
            (api.KernelContext_GetInput)(self.pointer, number, value)
        })?;
        if value.is_null() {
            return Err(Failure("is left out".to_owned()).of("input", number));
        }
        // SAFETY: the value is an input of this call and lives until it ends.
        unsafe { Input::new(self.api, value) }.map_err(|failure| failure.of("input", number))
    }

    /// Creates an output of this type and shape; `None` if no node reads it. `declared` is its type in the graph.
    pub(crate) fn output(
        &self,
        number: usize,
        (element, shape): (ElementType, &Shape),
        declared: Option<ElementType>,
    ) -> Result<Option<Output<'_>>> {
        let sizes = shape.iter().map(|size| i64::try_from(*size));
        let sizes = sizes.collect::<std::result::Result<Vec<_>, _>>();
        let sizes = sizes.map_err(|_| Failure("is too large".to_owned()).of("output", number))?;
        // SAFETY: the context belongs to the current call, and the length belongs to `sizes`.
        let value = self.api.get(null_mut(), |api, value| unsafe {
            (api.KernelContext_GetOutput)(self.pointer, number, sizes.as_ptr(), sizes.len(), value)
        })?;
        if value.is_null() {
            return Ok(None);
        }
        check(element, declared).map_err(|failure| failure.of("output", number))?;
        // SAFETY: the value is an output of this call with the requested shape and the graph's type, which equals
        // `element`. Only this `Output` writes it.
        let output = unsafe { Output::new(self.api, value, element, shape) };
        output.map(Some).map_err(|failure| failure.of("output", number))
    }
}

/// Refuses a type that differs from the graph's.
fn check(element: ElementType, declared: Option<ElementType>) -> Result<()> {
    match declared {
        Some(declared) if declared == element => Ok(()),
        Some(declared) => {
            let problem = format!("is of {element}, but the graph states {declared}");
            Err(Failure(problem))
        }
        None => Err(Failure(format!("is of {element}, but the graph does not state it"))),
    }
}
