//! Arrays that a format has in chunks.
//!
//! To whoever reads at some place, all of them are one sequence of bytes: chunk after chunk, decoded. A chunk
//! is decoded when the first of its bytes is read, and kept until others are; what was never written, and has
//! the fill value, is such a chunk too.

mod array;
mod boxes;
mod chunks;
mod recent;

pub(crate) use array::{ChunkedArray, bytes_of_chunks, copy_all};
#[cfg(feature = "zarr")]
pub(crate) use boxes::{Place, copy_box, counts, indices, part_of_chunk};
pub(crate) use chunks::Chunks;
#[cfg(feature = "zarr")]
pub(crate) use recent::Recent;
