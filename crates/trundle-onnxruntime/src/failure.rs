//! Errors of a call, and their statuses.

use std::any::Any;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use ort_sys::OrtStatusPtr;

use crate::api::Api;

#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn of(self, what: &str, number: usize) -> Failure {
        Failure(format!("{what} {number}: {}", self.0))
    }

    pub(crate) fn of_attribute(self, name: &CStr) -> Failure {
        Failure(format!("attribute {}: {}", name.to_string_lossy(), self.0))
    }
}

macro_rules! from {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure(error.to_string())
            }
        })*
    };
}

from!(trundle::Error, trundle::ShapeError, trundle::ChainError, trundle_models::Error);

/// Turns an error or panic of `work` into a status with a message that begins with `label`.
pub(crate) fn guarded(api: Api, label: &str, work: impl FnOnce() -> Result<()>) -> OrtStatusPtr {
    let problem = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return OrtStatusPtr(null_mut()),
        Ok(Err(Failure(problem))) => problem,
        Err(panic) => format!("panicked: {}", message_of(&*panic)),
    };
    api.status(&format!("{label}: {problem}"))
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    match panic.downcast_ref::<String>() {
        Some(text) => text,
        None => panic.downcast_ref::<&str>().unwrap_or(&"of unknown cause"),
    }
}
