//! Kernels for the lanes of a ragged axis: columns that are each cut into two runs, at their own length.

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
