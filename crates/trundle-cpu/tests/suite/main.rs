//! Compares the plans of the CPU backend with the oracle, for every kernel, thread count and alignment.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod along;
mod cancellation;
mod common;
mod conformance;
mod filled;
mod in_place;
mod indexed;
mod interpreted;
mod owned;
mod planner;
mod repeated;
mod scatter_plan;
mod simd;
mod slices;
mod sub_byte;
mod threads;
