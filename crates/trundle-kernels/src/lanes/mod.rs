//! Lanes of a ragged axis: each lane has its own cut.

// Kernels.
pub(crate) mod packed_lanes;
pub(crate) mod strided_lanes;
pub(crate) mod sub_line;

// Parts of kernels.
mod barrel_shift;
mod group;
pub(crate) mod ragged;
mod reversed_run;
mod swapped;
