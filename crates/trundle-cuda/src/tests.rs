//! Tests on devices: the machine's where `TRUNDLE_CUDA=required` says that there are some, else emulated ones, which run the
//! kernels' own text.

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
mod streams;
mod threads;
mod tiles;
mod wide;
