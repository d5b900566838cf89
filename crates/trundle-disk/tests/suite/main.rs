//! Tests of jobs on files: results, faults, several inputs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod faults;
mod files;
mod programs;
mod several;
