//! Lanes of a ragged axis: each is cut at a place of its own.

// Kernels.
pub(crate) mod packed_lanes;
pub(crate) mod strided_lanes;
pub(crate) mod sub_line;

// What they are made of.
mod barrel_shift;
mod group;
pub(crate) mod ragged;
mod reversed_run;
mod swapped;
