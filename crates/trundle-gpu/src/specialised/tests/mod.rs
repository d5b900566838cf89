//! Runs the trees of kernels, and compares the results with the oracle.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod backend;
mod cases;
mod chains;
mod conformance;
mod host;
mod measured;
mod refusals;
