//! The warning that a front end can show.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static WARNING: Mutex<Option<String>> = Mutex::new(None);
static IS_GIVEN: AtomicBool = AtomicBool::new(false);
static IS_WAITING: AtomicBool = AtomicBool::new(false);

/// Keeps the first warning of the process. Plans contain the reasons of all.
pub(crate) fn warn(message: String) {
    if !IS_GIVEN.swap(true, Ordering::Relaxed) {
        *WARNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
        IS_WAITING.store(true, Ordering::Release);
    }
}

/// Returns the reason why kernels could not be compiled, once in a process. Results are right without them.
pub fn take_warning() -> Option<String> {
    if !IS_WAITING.load(Ordering::Acquire) {
        return None;
    }
    IS_WAITING.store(false, Ordering::Relaxed);
    WARNING.lock().unwrap_or_else(PoisonError::into_inner).take()
}
