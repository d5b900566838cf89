//! The version of the library.

use std::ffi::{CStr, c_char};

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// Returns the version of the running library, such as "0.1.0", as a static string. TRUNDLE_VERSION is the version of
/// the header.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_version() -> *const c_char {
    VERSION.as_ptr()
}
