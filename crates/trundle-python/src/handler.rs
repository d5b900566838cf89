//! A memory handler for numpy arrays that recycles memory (NEP 49). Arrays own the memory that they get, and return it
//! when they are freed.

use std::ffi::{CStr, c_void};
use std::ptr::{NonNull, null_mut};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::lazy::Lazy;
use crate::recycled::Block;

/// `PyDataMem_Handler` of numpy 1.22 and later.
#[repr(C)]
struct Handler {
    name: [u8; 127],
    version: u8,
    allocator: Allocator,
}

/// `PyDataMemAllocator`.
#[repr(C)]
struct Allocator {
    ctx: *mut c_void,
    malloc: extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

// SAFETY: the handler is never written, and its context is null.
unsafe impl Sync for Handler {}

static HANDLER: Handler = Handler {
    name: name(),
    version: 1,
    allocator: Allocator { ctx: null_mut(), malloc, calloc, realloc, free },
};

const fn name() -> [u8; 127] {
    let (text, mut name) = (b"trundle", [0; 127]);
    let mut at = 0;
    while at < text.len() {
        name[at] = text[at];
        at += 1;
    }
    name
}

/// The bytes before the data of an array. They hold the size of its block, because the size that numpy passes may be
/// wrong, for example for empty arrays. With one cache line, the data is aligned to a line.
const HEAD: usize = 64;

extern "C" fn malloc(_: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(block) = bytes.checked_add(HEAD).and_then(Block::new) else { return null_mut() };
    let bytes = block.bytes();
    let start = block.into_raw();
    // SAFETY: the block has at least `HEAD` bytes and is aligned for a usize.
    unsafe {
        start.cast::<usize>().write(bytes);
        start.add(HEAD).cast()
    }
}

extern "C" fn calloc(ctx: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(bytes) else { return null_mut() };
    let start = malloc(ctx, bytes);
    if !start.is_null() {
        // SAFETY: the block has `bytes` bytes after its head and was just allocated.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
    }
    start
}

/// # Safety
/// `old` must be null or come from `malloc`, `calloc` or this function of the handler, and nothing else may
/// use it.
unsafe extern "C" fn realloc(ctx: *mut c_void, old: *mut c_void, bytes: usize) -> *mut c_void {
    let new = malloc(ctx, bytes);
    // SAFETY: `old` is null or from this handler, by the contract of this function.
    let Some(block) = (unsafe { block_of(old) }) else { return new };
    if new.is_null() {
        // Out of memory: numpy keeps the old block.
        block.into_raw();
        return new;
    }
    let kept = bytes.min(block.bytes() - HEAD);
    // SAFETY: both blocks have at least `kept` bytes, and are distinct.
    unsafe { new.cast::<u8>().copy_from_nonoverlapping(old.cast(), kept) };
    new
}

/// # Safety
/// As for `realloc`.
unsafe extern "C" fn free(_: *mut c_void, start: *mut c_void, _: usize) {
    // SAFETY: `start` is null or from this handler, by the contract of this function.
    drop(unsafe { block_of(start) });
}

/// Returns the block of an array; `None` for a null pointer.
///
/// # Safety
/// As for `realloc`, and only once for each block.
unsafe fn block_of(start: *mut c_void) -> Option<Block> {
    let start = NonNull::new(start)?;
    // SAFETY: `malloc` has written the head before `start`.
    unsafe {
        let block = start.cast::<u8>().sub(HEAD);
        let bytes = block.cast::<usize>().read();
        Some(Block::from_raw(block, bytes))
    }
}

/// Calls `make` with recycled memory for the arrays that it creates.
///
/// # Errors
/// The exceptions of `make`, or of numpy when the handler is set.
pub(crate) fn with_recycled<T>(py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let _restored = Restored(set_handler(py, capsule(py)?)?);
    make()
}

/// Gives the previous handler back to numpy, also after a panic.
struct Restored<'py>(Bound<'py, PyAny>);

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        // numpy accepted this handler before.
        let _ = set_handler(self.0.py(), &self.0);
    }
}

fn capsule(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CAPSULE: Lazy<Py<PyAny>> = Lazy::new();
    const NAME: &CStr = c"mem_handler";
    let capsule = CAPSULE.get_or_make(py, || {
        let handler = (&raw const HANDLER).cast_mut().cast();
        // SAFETY: the handler and its name are static. The call returns a new reference, or null with an
        // exception set.
        let capsule = unsafe { pyo3::ffi::PyCapsule_New(handler, NAME.as_ptr(), None) };
        // SAFETY: `PyCapsule_New` returned a new reference, or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
    })?;
    Ok(capsule.bind(py))
}

/// Returns the previous handler of this thread's context.
fn set_handler<'py>(py: Python<'py>, handler: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    type SetHandler = unsafe extern "C" fn(*mut pyo3::ffi::PyObject) -> *mut pyo3::ffi::PyObject;
    /// Its index in numpy's table of functions.
    const SET_HANDLER: usize = 304;
    static FUNCTION: Lazy<SetHandler> = Lazy::new();
    let set = FUNCTION.get_or_make(py, || {
        let core =
            py.import("numpy._core.multiarray").or_else(|_| py.import("numpy.core.multiarray"));
        let table = core?.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table: NonNull<*const c_void> = table.pointer_checked(None)?.cast();
        // SAFETY: the table belongs to numpy, lives as long as the process, and has had this function at this
        // index since version 1.22.
        let function = unsafe { table.add(SET_HANDLER).read() };
        if function.is_null() {
            return Err(PyImportError::new_err("numpy has no PyDataMem_SetHandler"));
        }
        // SAFETY: the function belongs to numpy and lives as long as the process; the type is the documented
        // one.
        Ok(unsafe { std::mem::transmute::<*const c_void, SetHandler>(function) })
    })?;
    // SAFETY: `handler` is a capsule with a handler. The call returns the previous handler, or null with an
    // exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, set(handler.as_ptr())) }
}
