//! The C functions of an ONNX Runtime.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use ort_sys::{OrtApi, OrtApiBase, OrtErrorCode, OrtStatusPtr};

use crate::failure::{Failure, Result};

/// ONNX Runtime 1.17 is the first with shape inference for custom operators.
pub(crate) const VERSION: u32 = 17;

/// Every ONNX Runtime has it; later versions only append functions.
const FIRST_VERSION: u32 = 1;

/// A function table, valid until the process ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Api(*const OrtApi);

// SAFETY: the table is immutable, and its functions may be called from any thread.
unsafe impl Send for Api {}
// SAFETY: as for `Send`.
unsafe impl Sync for Api {}

impl Api {
    /// Returns the functions of version [`VERSION`], or a status if the runtime is too old.
    ///
    /// # Safety
    /// `base` must be the pointer that ONNX Runtime passes to a library of custom operators.
    pub(crate) unsafe fn of_base(
        base: *const OrtApiBase,
    ) -> std::result::Result<Api, OrtStatusPtr> {
        // SAFETY: `base` is valid by the contract of this function, and every version has both functions.
        let (of_ours, of_first, version) = unsafe {
            let get = (*base).GetApi;
            (get(VERSION), get(FIRST_VERSION), (*base).GetVersionString)
        };
        if !of_ours.is_null() {
            return Ok(Api(of_ours));
        }
        // Without version 1, no status can be created.
        if of_first.is_null() {
            return Err(OrtStatusPtr(null_mut()));
        }
        // SAFETY: the version is a static C string.
        let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
        let problem = format!("trundle needs ONNX Runtime 1.{VERSION} or newer, this is {version}");
        Err(Api(of_first).status(&problem))
    }

    /// Wraps the function table passed to a kernel or an operator.
    ///
    /// # Safety
    /// `functions` must be a table that ONNX Runtime passes to operators of version [`VERSION`].
    pub(crate) unsafe fn of_pointer(functions: *const OrtApi) -> Api {
        Api(functions)
    }

    pub(crate) fn functions(&self) -> &'static OrtApi {
        // SAFETY: the table is immutable and valid until the process ends.
        unsafe { &*self.0 }
    }

    /// The caller owns the status.
    pub(crate) fn status(self, message: &str) -> OrtStatusPtr {
        let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
        // SAFETY: version 1 has this function; it copies the text.
        unsafe { ((*self.0).CreateStatus)(OrtErrorCode::ORT_FAIL, message.as_ptr()) }
    }

    /// Calls a function that overwrites `result`, and returns the result.
    ///
    /// # Errors
    /// Returns the error of the function.
    pub(crate) fn get<T>(
        self,
        mut result: T,
        call: impl FnOnce(&OrtApi, &mut T) -> OrtStatusPtr,
    ) -> Result<T> {
        self.check(call(self.functions(), &mut result))?;
        Ok(result)
    }

    /// Frees a status.
    ///
    /// # Errors
    /// The message of a status that is not null.
    pub(crate) fn check(self, status: OrtStatusPtr) -> Result<()> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: the status is owned and freed once, after its message was copied.
        let message = unsafe {
            let message = CStr::from_ptr((self.functions().GetErrorMessage)(status.0));
            let message = message.to_string_lossy().into_owned();
            (self.functions().ReleaseStatus)(status.0);
            message
        };
        Err(Failure(message))
    }
}
