//! Kernels that use tables of offsets, for many short loops, or tables of indices.

// Kernels.
pub(crate) mod bit_permuted;
pub(crate) mod gathered;
pub(crate) mod indexed;

// Parts of kernels.
pub(crate) mod exchanges;
pub(crate) mod staged;
pub(crate) mod tables;
