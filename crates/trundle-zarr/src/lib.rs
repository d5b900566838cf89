//! Zarr stores, in folders and wherever else there are objects by keys: which arrays there are, and their
//! chunks; and new ones of version 3.
//!
//! This is all that trundle knows of Zarr, and the only crate that names [`zarrs`], which knows metadata,
//! codecs and shards. What is not in zarrs is here: a walk through a store that trusts no list in it,
//! reads that take no more than a chunk can have, and codecs (`bounded.rs`) that cannot be made to fill the
//! memory by a few bytes that claim to be many.
//!
//! Source: the Zarr specifications, versions 2 and 3.
#![forbid(unsafe_code)]

mod array;
mod bounded;
mod cached;
mod cores;
mod error;
mod folder;
mod lz4;
mod metadata;
mod new_array;
mod new_group;
mod object_store;
mod reader;
mod shards;
mod store;
mod zstd_encoders;

pub use array::ZarrArray;
pub use cores::use_cores;
pub use error::Error;
pub use folder::Folder;
pub use new_array::{ArrayWriter, NewArray};
pub use new_group::create_groups;
pub use object_store::{Below, Elsewhere, Object, ObjectStore, Part, Stat, check_bytes};
pub use store::{Attributes, MOST_ARRAYS, Store, Unreadable};
