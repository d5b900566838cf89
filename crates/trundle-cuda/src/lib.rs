//! Moves on NVIDIA's GPUs, by CUDA. How a move is done is decided by the crate trundle-gpu.
//!
//! The kernels are `kernels/*.h`, compiled to PTX that is checked in: `kernels/build.py` makes it. The tests compile the same
//! text for the host, where a block's threads are a loop and every access to memory is checked.
#![allow(unsafe_code)]
#![cfg_attr(not(test), expect(dead_code, reason = "what launches kernels is still to come"))]

mod backend;
mod divisor;
#[cfg(test)]
mod host;
mod kernel;
mod launch;
mod numbers;
mod parameters;
mod prepared;
mod ptx;
mod rows;
#[cfg(test)]
mod tests;
