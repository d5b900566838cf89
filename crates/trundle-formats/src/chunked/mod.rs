//! Arrays whose format stores them in chunks.
//!
//! All chunks of all arrays are presented as one sequence of decoded bytes. A chunk is decoded when one of its bytes is
//! read, and cached until other chunks replace it. The elements of a chunk that was never written have the fill value.

mod array;
mod boxes;
mod chunks;
#[cfg(any(feature = "hdf5", feature = "tiff"))]
mod file;
#[cfg(any(feature = "hdf5", feature = "zarr"))]
mod new_chunks;
mod recent;

pub(crate) use array::{ChunkedArray, bytes_of_chunks, header, too_large, usable, zeros};
#[cfg(feature = "zarr")]
pub(crate) use array::{StoredChunk, copy_all, read_box};
#[cfg(feature = "zarr")]
pub(crate) use boxes::part_of_chunk;
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) use boxes::{BoxPosition, copy_box};
#[cfg(feature = "hdf5")]
pub(crate) use boxes::{counts, index_of};
pub(crate) use chunks::Chunks;
#[cfg(feature = "hdf5")]
pub(crate) use file::Unstored;
#[cfg(any(feature = "hdf5", feature = "tiff"))]
pub(crate) use file::{ChunkedFile, Data};
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) use new_chunks::{ChunkWriter, NewChunks, WrittenArray};
