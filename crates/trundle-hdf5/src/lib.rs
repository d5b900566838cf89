//! HDF5 files, of which netCDF-4 files are some: which datasets there are, where their data is, and their
//! chunks; and the metadata of new files.
//!
//! This is all that trundle knows of HDF5, and the only crate that names [`hdf5_reader`], which knows the
//! trees, arrays and heaps that index chunks, links and attributes, and most filters. The messages of object
//! headers are read here (`header.rs` and the files beside it): a dataset that is not understood has to hide
//! no others, and of types and layouts every bit that changes an element has to be seen.
//!
//! Only metadata is read through it. Data that is contiguous stands in the file as it is; of a chunk it is
//! known where it is, so that several threads read and decode chunks at once.
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
mod layout;
mod metadata;
mod new;

pub use attributes::Attributes;
pub use chunks::Chunked;
pub use dataset::{Data, Dataset};
pub use error::Error;
pub use file::{Hdf5File, MOST_DATASETS, Unreadable};
pub use metadata::ReadAt;
pub use new::{NewDataset, NewFile};

/// What a file begins with; one with a user block has it further on.
pub const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";
