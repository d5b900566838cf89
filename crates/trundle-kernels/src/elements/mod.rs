//! Kernels that copy one element at a time.

// Kernels.
pub(crate) mod small;
pub(crate) mod strided;

// Parts, which other kernels use too.
pub(crate) mod copy;
