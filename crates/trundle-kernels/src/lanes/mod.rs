//! Kernels for the lanes of a ragged axis. Lanes are columns that each have their own length, which determines where
//! the lane is cut into two runs.

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
