//! Tests of jobs on files: their results, their faults, and jobs with several inputs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod faults;
mod files;
mod programs;
mod several;
