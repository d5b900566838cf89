//! Every operator against what its text says of each element, and against its refusals.

mod lists;
mod movements;
mod shapes;
mod sketch;
mod slices;
mod strided_slices;
mod untrusted;
mod widenings;
