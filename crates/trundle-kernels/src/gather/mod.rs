//! Many short axes: tiles that are gathered over several loops, whose steps are offsets in tables.

// Kernels.
pub(crate) mod bit_permuted;
pub(crate) mod gathered;

// What they are made of.
pub(crate) mod exchanges;
pub(crate) mod tables;
