//! Elements from tables: tiles that are gathered over several short loops, whose steps are offsets in tables, and
//! elements at indices.

// Kernels.
pub(crate) mod bit_permuted;
pub(crate) mod gathered;
pub(crate) mod indexed;

// What they are made of.
pub(crate) mod exchanges;
pub(crate) mod tables;
