//! Single elements.

// Kernels.
pub(crate) mod small;
pub(crate) mod strided;

// Parts, also of other kernels.
pub(crate) mod copy;
