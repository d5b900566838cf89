//! Neighbours of the source become rows of the destination.

// Kernels.
pub(crate) mod padded;
pub(crate) mod transposed;

// What they are made of.
mod cache_resident;
mod cursor;
mod micro_tile;
mod packed_panel;
mod panel;
mod row_block;
mod short_rows;
mod whole_lines;

pub use short_rows::MOST_SHORT_ROW_BYTES;
