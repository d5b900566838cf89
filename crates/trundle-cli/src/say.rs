//! What the program says: messages on stderr, results on stdout.

use std::io::{ErrorKind, Write, stderr, stdout};

use crate::failure::Failure;

/// A message for people. That nobody can read it is no failure.
pub(crate) fn say(message: &str) {
    let _ = writeln!(stderr().lock(), "{message}");
}

/// A result. That nobody reads to its end (`| head`) is no failure.
///
/// # Errors
/// If stdout cannot take it, such as on a full disk.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::running(format!("stdout: cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// A result for programs: one object on one line.
///
/// # Errors
/// As [`print()`].
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}
