//! Files of tensors: what they hold, its bytes, and new files of moved tensors.
//!
//! A [`TensorFile`] says what is in a file before any of its data is read: a [`Header`] for each
//! tensor, with its [`StoredDType`], the element type as the file states it. Data is moved without a
//! look at the elements, so the byte order, field names and padding of a type are written as they were read.
//! Each [`Format`] is a row of [`FORMATS`], picked by a path's ending.
//!
//! .npy is read in its versions 1.0, 2.0 and 3.0, with every type but Python objects; bytes after
//! the data are ignored, as `numpy.load` ignores them. It is written as `numpy.save` writes it.
//! .npz holds several, stored or deflated; it is written as `numpy.savez` writes it, stored.
//! .safetensors is read and written with all its types, the order of its tensors and its metadata.
//! Raw bytes (.bin, .raw) are read by a [`TensorHint`], which can also name the type of a file
//! that holds the bits of one that its format lacks. Read only are .gguf and .pt, of several
//! tensors, .nrrd and .nii, of one each. With the feature `zarr`, folders that are Zarr
//! stores of version 2 or 3 are read. With the feature `hdf5`, so are files of HDF5 and netCDF-4.
//!
//! Files are not trusted: nothing is reserved because a header claims it, and what contradicts
//! itself is refused before any data is read.
//!
//! A file is written around its data: a [`FileSkeleton`] says where the data of each tensor is, and
//! what else is in the file, before any of the data is there. [`write()`] is for tensors in memory.
//!
//! ```
//! use trundle_formats::{NamedTensor, TensorFile, write};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("ramp.npy");
//! let element = trundle_formats::StoredDType::new(trundle_core::DType::U8);
//! let shape = trundle_core::Shape::new([2, 2])?;
//! let ramp = NamedTensor { name: "ramp", element: &element, shape: &shape, bytes: &[0, 1, 2, 3] };
//! write(&path, &[ramp], false, &mut |_| ())?;
//!
//! let mut file = TensorFile::open(&path)?;
//! assert_eq!(*file.headers()[0].shape, [2, 2]);
//! assert_eq!(file.load(0, &mut |_| ())?, [0, 1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod alike;
mod annotations;
mod attributes;
mod blob;
#[cfg(feature = "s3")]
mod bucket_objects;
#[cfg(feature = "s3")]
mod bucket_output;
#[cfg(any(feature = "zarr", feature = "hdf5"))]
mod chunked;
mod codecs;
mod contents;
mod crc32;
mod element_text;
mod error;
mod format;
mod gguf;
#[cfg(feature = "hdf5")]
mod hdf5;
mod header;
mod header_reader;
mod leftover;
mod literal;
mod lock;
mod names;
pub mod ngff;
mod nifti;
mod npy;
mod npz;
mod nrrd;
mod numpy_dtype;
mod output;
mod pt;
mod raw;
mod registry;
mod safetensors;
mod shared;
#[cfg(feature = "s3")]
mod shared_bucket;
mod shared_folder;
mod shared_output;
mod skeleton;
mod source;
mod stored_dtype;
mod strings;
mod temporary_file;
mod temporary_folder;
mod temporary_name;
mod tensor_file;
mod tensor_hint;
mod type_names;
mod uncompressed;
mod url;
mod values;
mod write;
#[cfg(feature = "zarr")]
mod zarr;

pub use annotations::{AXES_KEY, Annotations, Difference};
pub use blob::{Blob, BlobIdentity, EncodedChunk, Sequential};
pub use codecs::Codecs;
pub use contents::Unreadable;
pub use crc32::{combined_crc32, crc32};
pub use error::{Error, ExitClass, Problem};
pub use format::Format;
pub use header::{Encoding, Header, Order};
pub use leftover::{LeftFile, Leftover, LeftoverState, Removal, leftovers};
#[doc(hidden)]
pub use lock::lock;
pub use names::{Shown, is_steering};
pub use output::{Output, is_within, overlaps};
pub use registry::FORMATS;
pub use shared_output::{Joined, SharedOutput};
pub use skeleton::{ChunkedTensor, Described, FileSkeleton, Span};
pub use source::Progress;
pub use stored_dtype::StoredDType;
pub use temporary_file::{Begin, TemporaryFile, begin_finishing, remove_temporary_files};
pub use temporary_name::TemporaryName;
pub use tensor_file::TensorFile;
pub use tensor_hint::TensorHint;
pub use url::is_url;
pub use write::{NamedTensor, check_output, stage, write};

/// Lets this process decode and encode chunks of Zarr stores on so many cores, or on those that the machine has. All
/// movements share them.
pub fn use_cores(count: Option<usize>) {
    #[cfg(feature = "zarr")]
    trundle_zarr::use_cores(count);
    #[cfg(not(feature = "zarr"))]
    let _ = count;
}
