//! Lanes of a ragged axis: each is cut at a place of its own.

// Kernels.
pub(crate) mod barrel_shift;
pub(crate) mod strided_lanes;
pub(crate) mod sub_line;

// What they are made of.
mod group;
pub(crate) mod ragged;
mod reversed_run;
