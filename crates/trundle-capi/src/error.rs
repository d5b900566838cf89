//! Errors: a status, and a message that is stored for each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use trundle::{DTypeError, Error, OpError, PlanError, ShapeError};

use super::status::{
    TRUNDLE_ERROR_INTERNAL, TRUNDLE_ERROR_TOO_LARGE, TRUNDLE_OK, status_of, status_of_model,
    trundle_status,
};
use super::threads;

thread_local! {
    static LAST_MESSAGE: RefCell<CString> = RefCell::default();
}

/// Returns the message of the last failed call in this thread, or "" if no call has failed. The message has the name of
/// the argument and its values. The string is valid until the next failed call in this thread, or until the thread
/// ends.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_last_error() -> *const c_char {
    // Thread-local data may already be destroyed while a thread ends.
    LAST_MESSAGE.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: trundle_status,
    pub(crate) message: String,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn new(status: trundle_status, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }

    pub(crate) fn of_input(self, number: usize) -> Failure {
        self.of("inputs", number)
    }

    pub(crate) fn of_output(self, number: usize) -> Failure {
        self.of("outputs", number)
    }

    fn of(self, list: &str, number: usize) -> Failure {
        Failure { message: format!("{list}[{number}]: {}", self.message), ..self }
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Failure {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Failure::new(TRUNDLE_ERROR_INTERNAL, format!("internal error of the library: {message}"))
    }

    fn keep(self) {
        let mut bytes = self.message.into_bytes();
        bytes.retain(|byte| *byte != 0);
        bytes.push(0);
        let message = CStr::from_bytes_until_nul(&bytes).unwrap_or(c"").to_owned();
        // The message cannot be read any more while the thread ends.
        let _ = LAST_MESSAGE.try_with(|last| last.replace(message));
    }
}

macro_rules! from {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                let error = Error::from(error);
                Failure::new(status_of(&error), error.to_string())
            }
        }
    )*};
}

from!(Error, ShapeError, DTypeError, OpError);

impl From<trundle_models::Error> for Failure {
    fn from(error: trundle_models::Error) -> Failure {
        Failure::new(status_of_model(&error), error.to_string())
    }
}

/// The error for a lack of memory, which is the only error of planning and running a resolved model, because its inputs
/// have been checked before.
pub(crate) fn no_room(error: &trundle_models::Error) -> Failure {
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, error.to_string())
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        match error {
            // A single operator needs no position; chains show it, see `chain::planning_failed`.
            PlanError::Chain(error) => Failure::from(*error.source),
            PlanError::Layout(error) => Failure::from(error),
            error => Failure::new(TRUNDLE_ERROR_INTERNAL, error.to_string()),
        }
    }
}

/// Runs a call with the number of threads that the calling thread has set. Converts an error or a panic to a status,
/// and stores its message.
pub(crate) fn guarded(call: impl FnOnce() -> Result<()>) -> trundle_status {
    // After a panic, only the output may be incomplete, because no other state is used after the call.
    let outcome = catch_unwind(AssertUnwindSafe(|| threads::within(call)))
        .unwrap_or_else(|panic| Err(Failure::of_panic(&*panic)));
    match outcome {
        Ok(()) => TRUNDLE_OK,
        Err(failure) => {
            let status = failure.status;
            failure.keep();
            status
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_message() -> String {
        // SAFETY: the pointer is a C string that stays valid until the next failure.
        unsafe { CStr::from_ptr(trundle_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        assert_eq!(guarded(|| panic!("odd {}", 1)), TRUNDLE_ERROR_INTERNAL);
        assert_eq!(last_message(), "internal error of the library: odd 1");
        assert_eq!(guarded(|| panic!("even")), TRUNDLE_ERROR_INTERNAL);
        assert_eq!(last_message(), "internal error of the library: even");
        assert_eq!(guarded(|| std::panic::panic_any(1)), TRUNDLE_ERROR_INTERNAL);
        assert_eq!(last_message(), "internal error of the library: no message");
    }

    #[test]
    fn a_message_with_a_nul_is_complete() {
        let status = guarded(|| Err(Failure::new(7, "one\0two")));
        assert_eq!((status, last_message()), (7, "onetwo".to_owned()));
        assert_eq!(guarded(|| Ok(())), TRUNDLE_OK);
        assert_eq!(last_message(), "onetwo");
    }
}
