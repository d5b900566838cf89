//! Single elements.

// Kernels.
pub(crate) mod small;
pub(crate) mod strided;

// What it is made of, and others are.
pub(crate) mod copy;
