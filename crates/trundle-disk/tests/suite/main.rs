//! Jobs on files: their results, faults of the system, several inputs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod faults;
mod files;
mod programs;
mod several;
