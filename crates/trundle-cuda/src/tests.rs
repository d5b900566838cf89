//! Tests on real devices if `TRUNDLE_CUDA=required` is set, and otherwise on emulated ones, which run the same kernel
//! sources.

mod capture;
mod chains;
mod conformance;
mod counted;
mod devices;
mod faults;
mod kernels;
mod layout;
mod memory;
mod moves;
mod plan;
mod refusals;
mod specialised;
mod streams;
mod threads;
mod tiles;
mod wide;
