//! Converts driver errors.

use cudarc::driver::result::DriverError;
use trundle_core::Error;

pub(crate) fn message_of(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("error {}", error.0 as u32),
    }
}

pub(crate) fn failed(error: DriverError) -> Error {
    Error::DeviceFailed { message: message_of(error) }
}
