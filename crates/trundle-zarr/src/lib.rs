//! Reads Zarr arrays of versions 2 and 3, and writes arrays of version 3, in folders and object stores.
//!
//! This is the only crate that uses [`zarrs`], which handles metadata, codecs and shards. This crate adds a search for
//! all arrays of a store that ignores consolidated metadata, reads limited to the size that a chunk can have, and
//! codecs that refuse data claiming to decode to more (`bounded.rs`). It decodes and encodes deflate by libdeflate, also
//! for HDF5 and TIFF (`deflate.rs`).
//!
//! Source: the Zarr specifications of versions 2 and 3.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use trundle_zarr::{Folder, ObjectStore, Store};
//!
//! let objects: Arc<dyn ObjectStore> = Arc::new(Folder::new(Path::new("scan.zarr")));
//! let store = Store::open(&objects)?;
//! for array in &store.arrays {
//!     let first = vec![0; array.shape.len()];
//!     println!("{}: {:?}, {} bytes", array.path, array.shape, array.read_chunk(&first)?.len());
//! }
//! # Ok::<(), trundle_zarr::Error>(())
//! ```
#![forbid(unsafe_code)]

mod array;
mod bounded;
mod cached;
mod cores;
mod deflate;
mod error;
mod filters;
mod folder;
mod metadata;
mod new_array;
mod new_group;
mod object_store;
mod opaque;
mod reader;
mod reshaped;
mod shards;
mod store;
mod text_array;
mod times;
mod undecoded_array;
mod uneven;
mod zstd_encoders;

pub use array::ZarrArray;
pub use bounded::CompressionFormat;
pub use cores::use_cores;
pub use deflate::{zlib_decoded, zlib_decoded_into, zlib_encoded};
pub use error::Error;
pub use folder::Folder;
pub use metadata::Attributes;
pub use new_array::{ArrayWriter, NewArray};
pub use new_group::create_groups;
pub use object_store::{Below, ByteRange, Elsewhere, Object, ObjectStore, Stat, check_bytes};
pub use reshaped::{ChangedMetadata, NewShape, reshaped};
pub use store::{MOST_ARRAYS, Store, Unreadable};
pub use text_array::TextArray;
pub use undecoded_array::UndecodedArray;
