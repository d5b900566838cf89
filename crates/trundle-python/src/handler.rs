//! Recycled memory for numpy's arrays: a handler that numpy asks for memory in place of its own, as
//! NEP 49 has it. Arrays own what they get from it, and give it back when they go.

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

// SAFETY: nothing in it is ever written, and its context is null.
unsafe impl Sync for Handler {}

static HANDLER: Handler = Handler {
    name: name(),
    version: 1,
    allocator: Allocator { ctx: null_mut(), malloc, calloc, realloc, free },
};

/// As `numpy.lib.introspect` and `get_handler_name` show it.
const fn name() -> [u8; 127] {
    let (text, mut name) = (b"trundle", [0; 127]);
    let mut at = 0;
    while at < text.len() {
        name[at] = text[at];
        at += 1;
    }
    name
}

/// The bytes before an array's, where the size of its block stands: numpy's own account of it may
/// be off, as for arrays without elements. A line of the cache, so that the array begins at one.
const HEAD: usize = 64;

extern "C" fn malloc(_: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(block) = bytes.checked_add(HEAD).and_then(Block::new) else { return null_mut() };
    let bytes = block.bytes();
    let start = block.into_raw();
    // SAFETY: the block has room for its head, and is aligned to more than a number.
    unsafe {
        start.cast::<usize>().write(bytes);
        start.add(HEAD).cast()
    }
}

extern "C" fn calloc(ctx: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(bytes) else { return null_mut() };
    let start = malloc(ctx, bytes);
    if !start.is_null() {
        // SAFETY: there are that many bytes, which nobody else has.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
    }
    start
}

/// # Safety
/// `old` is null, or from `malloc`, `calloc` or this, and used by nobody else.
unsafe extern "C" fn realloc(ctx: *mut c_void, old: *mut c_void, bytes: usize) -> *mut c_void {
    let new = malloc(ctx, bytes);
    // SAFETY: by the caller.
    let Some(block) = (unsafe { block_of(old) }) else { return new };
    if new.is_null() {
        // There is no room: numpy goes on with what it has.
        block.into_raw();
        return new;
    }
    let kept = bytes.min(block.bytes() - HEAD);
    // SAFETY: both have that many bytes, of two blocks.
    unsafe { new.cast::<u8>().copy_from_nonoverlapping(old.cast(), kept) };
    new
}

/// # Safety
/// As for `realloc`.
unsafe extern "C" fn free(_: *mut c_void, start: *mut c_void, _: usize) {
    // SAFETY: by the caller.
    drop(unsafe { block_of(start) });
}

/// The block of an array.
///
/// # Safety
/// As for `realloc`; the block is given out once.
unsafe fn block_of(start: *mut c_void) -> Option<Block> {
    let start = NonNull::new(start)?;
    // SAFETY: `malloc` has put the head before it.
    unsafe {
        let block = start.cast::<u8>().sub(HEAD);
        let bytes = block.cast::<usize>().read();
        Some(Block::from_raw(block, bytes))
    }
}

/// Calls `make`, and gives the arrays that it makes recycled memory.
///
/// # Errors
/// What `make` raises, or numpy when it is given the handler.
pub(crate) fn with_recycled<T>(py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let ours = capsule(py)?;
    let others = set_handler(py, ours)?;
    let made = make();
    set_handler(py, &others)?;
    made
}

fn capsule(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CAPSULE: Lazy<Py<PyAny>> = Lazy::new();
    const NAME: &CStr = c"mem_handler";
    let capsule = CAPSULE.get_or_make(py, || {
        let handler = (&raw const HANDLER).cast_mut().cast();
        // SAFETY: the handler and its name are static. The call gives a new reference, or none with
        // an exception set.
        let capsule = unsafe { pyo3::ffi::PyCapsule_New(handler, NAME.as_ptr(), None) };
        // SAFETY: as above.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
    })?;
    Ok(capsule.bind(py))
}

/// Makes `handler` that of this thread's context, and returns the one before it.
fn set_handler<'py>(py: Python<'py>, handler: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    type SetHandler = unsafe extern "C" fn(*mut pyo3::ffi::PyObject) -> *mut pyo3::ffi::PyObject;
    /// The place of `PyDataMem_SetHandler` in numpy's table of functions.
    const SET_HANDLER: usize = 304;
    static FUNCTION: Lazy<SetHandler> = Lazy::new();
    let set = FUNCTION.get_or_make(py, || {
        let core =
            py.import("numpy._core.multiarray").or_else(|_| py.import("numpy.core.multiarray"));
        let table = core?.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table: NonNull<*const c_void> = table.pointer_checked(None)?.cast();
        // SAFETY: the table is numpy's, lives as long as the process, and since version 1.22 has
        // this function at this place.
        let function = unsafe { table.add(SET_HANDLER).read() };
        if function.is_null() {
            return Err(PyImportError::new_err("numpy has no PyDataMem_SetHandler"));
        }
        // SAFETY: as above; the type is the one that numpy documents.
        Ok(unsafe { std::mem::transmute::<*const c_void, SetHandler>(function) })
    })?;
    // SAFETY: a handler is given; the one before it comes back, or none with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, set(handler.as_ptr())) }
}
