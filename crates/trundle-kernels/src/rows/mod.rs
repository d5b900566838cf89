//! Rows whose elements are neighbours on both sides: in the same order, in the opposite one, or
//! rolled.

// Kernels.
pub(crate) mod regrouped;
pub(crate) mod reversed;
pub(crate) mod rolled;
pub(crate) mod rolled_short;
pub(crate) mod runs;

// What they are made of.
mod windows;
