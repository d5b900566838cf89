//! Every operator compared with its specification, and every error.
#![expect(clippy::cast_possible_wrap, reason = "the sizes here are small")]

mod arithmetic;
mod bodies;
mod diagonals;
mod gathers;
mod known;
mod lists;
mod movements;
mod naive;
mod patches;
mod random;
mod resizes;
mod shapes;
mod sketch;
mod slices;
mod spaces;
mod strided_slices;
mod untrusted;
mod widenings;
