//! Functions that answer a keyword that they do not take with the name that was perhaps meant.
//!
//! A signature with `**others` would see such a keyword too, but every call of it makes a tuple and a
//! dict of its arguments, which costs a small one up to a quarter more. So the signatures have
//! their own arguments alone; in front of what PyO3 makes of one stands a function that calls it,
//! and looks at the error of a call that has failed.

use std::ffi::{CString, c_int};
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::OnceLock;

use pyo3::exceptions::PySystemError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::keywords::hinted;

/// What the interpreter calls, with arguments as they lie on its stack.
pub(crate) type Call = ffi::PyCFunctionFastWithKeywords;

/// The flags of a `Call`: without a tuple of its arguments and a dict of its keywords.
const FLAGS: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;

/// What PyO3 has made of a function, with its name and its signature.
pub(crate) struct Made {
    call: Call,
    function: String,
    signature: String,
}

/// A function that is hinted.
pub(crate) trait Hinted: 'static {
    /// What it stands in front of, once that is known.
    fn made() -> &'static OnceLock<Made>;
}

/// Adds a function to a module.
macro_rules! add_hinted {
    ($module:expr, $function:path) => {{
        struct Function;
        impl $crate::hinted::Hinted for Function {
            fn made() -> &'static std::sync::OnceLock<$crate::hinted::Made> {
                static MADE: std::sync::OnceLock<$crate::hinted::Made> = std::sync::OnceLock::new();
                &MADE
            }
        }
        pyo3::wrap_pyfunction!($function, $module)
            .and_then(|function| $crate::hinted::add::<Function>($module, &function))
    }};
}
pub(crate) use add_hinted;

/// Adds a function that is called as `function` is, has its text, and is hinted.
///
/// # Errors
/// SystemError if the signature of `function` has `*` or `**` for arguments, with which it is called
/// otherwise; those of Python.
pub(crate) fn add<F: Hinted>(
    module: &Bound<'_, PyModule>,
    function: &Bound<'_, PyCFunction>,
) -> PyResult<()> {
    let call = call_of(function)?;
    let name: String = function.getattr("__name__")?.extract()?;
    let signature: String = function.getattr("__text_signature__")?.extract()?;
    let doc: String = function.getattr("__doc__")?.extract()?;
    // As C has both in one text.
    let doc = CString::new(format!("{name}{signature}\n--\n\n{doc}"))?;
    // A module that is made again has the same.
    F::made().get_or_init(|| Made { call, function: name.clone(), signature });
    // Functions refer to their definition as long as they are, which is as long as the process.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: CString::new(name)?.into_raw(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: called::<F> },
        ml_flags: FLAGS,
        ml_doc: doc.into_raw(),
    }));
    let (py, home) = (module.py(), module.name()?);
    // SAFETY: the definition and its texts are never freed, and its flags are those of its function.
    // The call gives a new reference, or none with an exception set.
    let hinted = unsafe {
        let hinted = ffi::PyCFunction_NewEx(definition, module.as_ptr(), home.as_ptr());
        Bound::from_owned_ptr_or_err(py, hinted)?
    };
    module.add_function(hinted.cast_into()?)
}

/// What the interpreter calls for a function.
fn call_of(function: &Bound<'_, PyCFunction>) -> PyResult<Call> {
    // SAFETY: it is a function of C's.
    let flags = unsafe { ffi::PyCFunction_GetFlags(function.as_ptr()) };
    // SAFETY: as above.
    let call = unsafe { ffi::PyCFunction_GetFunction(function.as_ptr()) };
    let Some(call) = call.filter(|_| flags == FLAGS) else {
        let message = format!("{function} is called with a tuple and a dict of its arguments");
        return Err(PySystemError::new_err(message));
    };
    // SAFETY: a function with these flags is of this type.
    Ok(unsafe { std::mem::transmute::<ffi::PyCFunction, Call>(call) })
}

/// What the interpreter calls in place of what PyO3 has made.
///
/// # Safety
/// The interpreter calls it, as a function with `FLAGS`.
unsafe extern "C" fn called<F: Hinted>(
    module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // There is one since before the interpreter knows of this function.
    let Some(made) = F::made().get() else { return null_mut() };
    // SAFETY: by the caller; it is a function with the same flags.
    let result = unsafe { (made.call)(module, arguments, count, names) };
    if result.is_null() && !names.is_null() {
        // SAFETY: by the caller, and no result means that an exception is set.
        unsafe { hint(made) };
    }
    result
}

/// Says what was perhaps meant, if the exception is of a keyword that the signature does not have.
///
/// # Safety
/// The interpreter is attached to this thread, and an exception is set.
#[cold]
unsafe fn hint(made: &Made) {
    // SAFETY: by the caller.
    if unsafe { ffi::PyErr_ExceptionMatches(ffi::PyExc_TypeError) } == 0 {
        return;
    }
    // No panic may go on into C. The exception is then gone, which the interpreter reports.
    let _ = catch_unwind(|| {
        Python::attach(|py| {
            hinted(py, &made.function, &made.signature, PyErr::fetch(py)).restore(py);
        });
    });
}
