//! Reads HDF5 files (including netCDF-4), and writes the metadata of new ones.
//!
//! This is the only crate that uses [`hdf5_reader`], which reads the trees, arrays and heaps that index chunks, links
//! and attributes, and undoes most filters. The caller may pass decoders for the filters of plugins, and faster
//! functions for deflate ([`Codecs`]). This crate itself reads the messages of object headers (`header.rs` and the
//! modules next to it), so that a dataset that is not understood hides no others, and no bit of a type or layout is
//! ignored.
//!
//! Contiguous data is read directly from the file. The positions of chunks are known, so threads can read and decode
//! them in parallel.
//!
//! Source: the HDF5 File Format Specification, version 3.0.
#![forbid(unsafe_code)]

mod attributes;
mod chunk_tree;
mod chunks;
mod dataset;
mod datatype;
mod dimensions;
mod error;
mod file;
mod filters;
mod group;
mod header;
mod heaps;
mod layout;
mod metadata;
mod new;
mod plugins;
mod typed;

pub use attributes::{Attributes, TYPED_KEY};
pub use chunks::Chunked;
pub use dataset::{Data, Dataset};
pub use datatype::{ASCII_STRING, STRING};
pub use error::Error;
pub use file::{Hdf5File, Unreadable};
pub use filters::Filter;
pub use heaps::HeapStrings;
pub use metadata::ReadAt;
pub use new::{
    ChunkCoder, ELEMENT_BYTES, NewChunk, NewChunks, NewDataset, NewFile, UNLIMITED,
    encoded_strings, stored_fill, superblock, write_chunk_index,
};
pub use plugins::{Codecs, Compression};

/// The signature at the start of a file, or after a user block.
pub const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";
