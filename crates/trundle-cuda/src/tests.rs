//! Tests of the kernels' own text, which the host's C++ compiler compiles, and of what can be said without a device.

mod chains;
mod conformance;
mod device;
mod layout;
mod refusals;
mod wide;
