//! What a kernel is called with.

use std::ptr::{null, null_mut};

use ort_sys::OrtKernelContext;

use crate::api::Api;
use crate::failure::{Failure, Result};
use crate::tensor::{Input, Output};

/// A call of a kernel: its inputs, and where its outputs go.
pub(crate) struct Context {
    api: Api,
    pointer: *mut OrtKernelContext,
}

impl Context {
    /// # Safety
    /// The pointer is what ONNX Runtime calls a kernel with, and this is used on the kernel's thread within that call.
    pub(crate) unsafe fn new(api: Api, pointer: *mut OrtKernelContext) -> Context {
        Context { api, pointer }
    }

    pub(crate) fn api(&self) -> Api {
        self.api
    }

    pub(crate) fn pointer(&self) -> *mut OrtKernelContext {
        self.pointer
    }

    /// All inputs.
    pub(crate) fn inputs(&self) -> Result<Vec<Input<'_>>> {
        let mut count = 0;
        // SAFETY: the context is that of this call.
        let counted =
            unsafe { (self.api.functions().KernelContext_GetInputCount)(self.pointer, &mut count) };
        self.api.check(counted)?;
        (0..count).map(|number| self.input(number)).collect()
    }

    /// An input.
    fn input(&self, number: usize) -> Result<Input<'_>> {
        let mut value = null();
        // SAFETY: the same.
        let got = unsafe {
            (self.api.functions().KernelContext_GetInput)(self.pointer, number, &mut value)
        };
        self.api.check(got)?;
        if value.is_null() {
            return Err(Failure("is left out".to_owned()).of("input", number));
        }
        // SAFETY: the value is an input of this call, and stays as long as that.
        unsafe { Input::new(self.api, value) }.map_err(|failure| failure.of("input", number))
    }

    /// An output of this shape, which is made now; `None` for one that nobody reads.
    pub(crate) fn output(&self, number: usize, sizes: &[usize]) -> Result<Option<Output<'_>>> {
        let sizes = sizes.iter().map(|size| i64::try_from(*size));
        let sizes = sizes.collect::<std::result::Result<Vec<_>, _>>();
        let sizes = sizes.map_err(|_| Failure("is too large".to_owned()).of("output", number))?;
        let mut value = null_mut();
        // SAFETY: the context is that of this call, and the sizes are as many as is said.
        let got = unsafe {
            let output = self.api.functions().KernelContext_GetOutput;
            output(self.pointer, number, sizes.as_ptr(), sizes.len(), &mut value)
        };
        self.api.check(got)?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: the value is an output of this call, which is written here alone.
        let output = unsafe { Output::new(self.api, value) };
        output.map(Some).map_err(|failure| failure.of("output", number))
    }
}
