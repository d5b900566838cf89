//! Arrays whose format stores them in chunks.
//!
//! All chunks of all arrays are presented as one sequence of decoded bytes. A chunk is decoded when one of its bytes is
//! read, and cached until other chunks replace it. The elements of a chunk that was never written have the fill value.

mod array;
mod boxes;
mod chunks;
mod new_chunks;
mod recent;

pub(crate) use array::{ChunkedArray, bytes_of_chunks, copy_all, header, too_large, usable};
#[cfg(feature = "zarr")]
pub(crate) use array::{StoredChunk, read_box};
#[cfg(feature = "zarr")]
pub(crate) use boxes::part_of_chunk;
pub(crate) use boxes::{BoxPosition, copy_box};
#[cfg(feature = "hdf5")]
pub(crate) use boxes::{counts, index_of};
pub(crate) use chunks::Chunks;
pub(crate) use new_chunks::{ChunkWriter, NewChunks, WrittenArray, zeros};
