//! The functions of an ONNX Runtime.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use ort_sys::{OrtApi, OrtApiBase, OrtErrorCode, OrtStatusPtr};

use crate::failure::{Failure, Result};

/// The version of the interface that is asked for: that of ONNX Runtime 1.17, the first in which custom operators say the
/// shapes of their outputs.
pub(crate) const VERSION: u32 = 17;

/// The first version, which every ONNX Runtime has: its functions are the first ones of all later.
const FIRST_VERSION: u32 = 1;

/// The functions of an ONNX Runtime, which stay as long as the process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Api(*const OrtApi);

// SAFETY: a table that nobody writes to, of functions that any thread may call.
unsafe impl Send for Api {}
// SAFETY: the same.
unsafe impl Sync for Api {}

impl Api {
    /// The functions of the ONNX Runtime that has this base, else a status that says why not.
    ///
    /// # Safety
    /// The pointer is one that ONNX Runtime gives to libraries.
    pub(crate) unsafe fn of_base(
        base: *const OrtApiBase,
    ) -> std::result::Result<Api, OrtStatusPtr> {
        // SAFETY: the contract is the same; both functions are there in every version.
        let (of_ours, of_first, version) = unsafe {
            let get = (*base).GetApi;
            (get(VERSION), get(FIRST_VERSION), (*base).GetVersionString)
        };
        if !of_ours.is_null() {
            return Ok(Api(of_ours));
        }
        // Then nothing can be said.
        if of_first.is_null() {
            return Err(OrtStatusPtr(null_mut()));
        }
        // SAFETY: a text that stays.
        let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
        let problem = format!("trundle needs ONNX Runtime 1.{VERSION} or newer, this is {version}");
        Err(Api(of_first).status(&problem))
    }

    /// The functions that a kernel or an operator is called with.
    ///
    /// # Safety
    /// The pointer is one that ONNX Runtime gives to operators of our version.
    pub(crate) unsafe fn of_pointer(functions: *const OrtApi) -> Api {
        Api(functions)
    }

    /// The functions.
    pub(crate) fn functions(&self) -> &'static OrtApi {
        // SAFETY: they stay as long as the process, and nobody writes to them.
        unsafe { &*self.0 }
    }

    /// A status that says what failed, which is the caller's.
    pub(crate) fn status(self, message: &str) -> OrtStatusPtr {
        let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
        // SAFETY: the function is one of the first version; it copies the text.
        unsafe { ((*self.0).CreateStatus)(OrtErrorCode::ORT_FAIL, message.as_ptr()) }
    }

    /// What a status says, which is freed.
    ///
    /// # Errors
    /// Its message, if it has one.
    pub(crate) fn check(self, status: OrtStatusPtr) -> Result<()> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: it is a status of this ONNX Runtime, which is ours and freed once, after its message is copied.
        let message = unsafe {
            let message = CStr::from_ptr((self.functions().GetErrorMessage)(status.0));
            let message = message.to_string_lossy().into_owned();
            (self.functions().ReleaseStatus)(status.0);
            message
        };
        Err(Failure(message))
    }
}
