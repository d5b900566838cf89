//! Gathers: elements over several short loops, by tables of offsets, and elements at indices.

// Kernels.
pub(crate) mod bit_permuted;
pub(crate) mod gathered;
pub(crate) mod indexed;

// Parts of kernels.
pub(crate) mod exchanges;
pub(crate) mod tables;
