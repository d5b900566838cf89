//! What the program says: messages on stderr, results on stdout.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{Write, stdout};

/// A message for people.
pub(crate) fn say(message: &str) {
    eprintln!("{message}");
}

/// A result. That nobody reads to its end (`| head`) is no failure.
pub(crate) fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A result for programs: one object on one line.
pub(crate) fn print_json(value: &serde_json::Value) {
    print(&format!("{value}\n"));
}
