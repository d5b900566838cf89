//! Exits of the process. NVRTC must not compile while its static objects are destroyed.

use std::sync::{PoisonError, RwLock};

/// Whether the process exits. Compilations hold a lock for reading.
static IS_CLOSED: RwLock<bool> = RwLock::new(false);

/// Compiles unless the process exits. The exit waits until `compile` returns.
pub(crate) fn unless_closed<T>(compile: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let is_closed = IS_CLOSED.read().unwrap_or_else(PoisonError::into_inner);
    if *is_closed { Err("the process exits".to_owned()) } else { compile() }
}

/// Registers the wait for compilations. Windows ends other threads before it destroys static objects.
pub(crate) fn at_exit() {
    #[cfg(unix)]
    {
        use std::sync::OnceLock;

        static PROCESS: OnceLock<u32> = OnceLock::new();

        unsafe extern "C" {
            fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
        }

        extern "C" fn close() {
            // A fork has no other threads, but perhaps a lock that one of them held.
            if PROCESS.get() == Some(&std::process::id()) {
                *IS_CLOSED.write().unwrap_or_else(PoisonError::into_inner) = true;
            }
        }

        if PROCESS.set(std::process::id()).is_ok() {
            // SAFETY: the function has this type in C, and `close` never panics.
            let _ = unsafe { atexit(close) };
        }
    }
}
