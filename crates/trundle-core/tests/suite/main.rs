//! Compares operators, index maps and programs with the oracle and the published specifications.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod programs;
mod rearrangements;
mod regions;
mod reshapes;
mod scatters;
mod spec_examples;
