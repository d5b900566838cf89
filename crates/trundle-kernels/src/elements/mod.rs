//! Single elements.

// The kernel.
pub(crate) mod strided;

// What it is made of, and others are.
pub(crate) mod copy;
