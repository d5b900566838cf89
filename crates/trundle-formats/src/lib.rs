//! Reads and writes files of tensors.
//!
//! A [`TensorFile`] reads a [`Header`] for each tensor before any data. The element type is a [`StoredDType`], the type
//! as the file states it. Elements are moved without interpreting them, so byte order, field names and padding are
//! preserved. Each [`Format`] is an entry of [`FORMATS`], chosen by the extension of a path.
//!
//! - .npy: read in versions 1.0, 2.0 and 3.0 with every type except Python objects. Bytes after the data are ignored,
//!   as in `numpy.load`. Written like `numpy.save`.
//! - .npz: several tensors. Read uncompressed or deflated; written uncompressed, like `numpy.savez`.
//! - .safetensors: read and written with all types, the order of the tensors, and metadata.
//! - Raw bytes (.bin, .raw): read with a [`TensorHint`]. A hint can also state the element type for a file whose format
//!   does not have the type and stores only its bits.
//! - The index of a sharded .safetensors checkpoint, .gguf and .pt (several tensors), .nrrd and .nii (one tensor, also
//!   compressed with gzip): read only.
//! - Zarr stores of version 2 or 3, with the feature `zarr`.
//! - HDF5 and netCDF-4, with the feature `hdf5`; the filters of plugins need `zarr` too.
//! - TIFF, BigTIFF and OME-TIFF (read only), with the feature `tiff`; zstd needs `zarr` too.
//!
//! Files are not trusted: sizes in headers do not cause allocations, and inconsistent files are refused before any data
//! is read.
//!
//! To write a file, first create its [`FileSkeleton`]: the position of each tensor's data, and all other bytes. The
//! data can follow in any order. [`write()`] writes tensors in memory.
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

mod addition;
mod alike;
mod annotations;
mod attributes;
mod blob;
#[cfg(feature = "zarr")]
pub mod bucket;
#[cfg(feature = "zarr")]
mod bucket_addition;
#[cfg(feature = "zarr")]
mod bucket_output;
#[cfg(any(feature = "zarr", feature = "hdf5", feature = "tiff"))]
mod chunked;
mod codecs;
mod concatenated;
mod contents;
mod crc32;
mod element_text;
mod error;
mod file_identity;
mod file_lock;
mod format;
mod gguf;
mod gunzip;
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
mod place;
mod pt;
mod raw;
mod registry;
#[cfg(feature = "remote")]
mod remote_file;
#[cfg(feature = "remote")]
mod remote_objects;
mod rename;
mod safetensors;
mod shared;
#[cfg(feature = "zarr")]
mod shared_bucket;
mod shared_folder;
mod shared_lock;
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
#[cfg_attr(
    not(any(feature = "zarr", feature = "hdf5")),
    expect(dead_code, reason = "only Zarr and HDF5 have strings of variable length")
)]
mod texts;
#[cfg(feature = "tiff")]
mod tiff;
mod type_names;
mod uncompressed;
mod url;
mod values;
mod write;
#[cfg(feature = "zarr")]
mod zarr;

pub use addition::{Earlier, check_addition, continue_addition};
pub use annotations::{AXES_KEY, Annotations, Difference};
pub use attributes::{TYPED_KEY, of_groups_only_in_hdf5};
pub use blob::{Blob, BlobIdentity, EncodedChunk, Sequential};
pub use codecs::{ChunkFormat, Codecs};
pub use contents::{UndecodedTensor, Unreadable};
pub use crc32::{combined_crc32, crc32};
pub use error::{Error, ExitClass, Problem};
pub use format::Format;
pub use header::{Encoding, Header, Order};
pub use leftover::{LeftFile, Leftover, LeftoverState, Removal, leftovers};
#[doc(hidden)]
pub use lock::lock;
pub use names::{Shown, folder_of, is_steering};
pub use output::{Output, is_within, overlaps};
pub use place::Place;
pub use registry::FORMATS;
pub use shared_output::{Joined, SharedOutput};
pub use skeleton::{ChunkedTensor, Described, FileSkeleton, Span, chunk_bytes, chunk_of};
pub use source::Progress;
pub use stored_dtype::StoredDType;
pub use temporary_file::{Begin, TemporaryFile, begin_finishing, remove_temporary_files};
pub use temporary_name::TemporaryName;
pub use tensor_file::TensorFile;
pub use tensor_hint::TensorHint;
pub use texts::use_text_memory;
pub use trundle_json::FILL_VALUE;
pub use url::{is_url, lasting_url};
pub use write::{NamedTensor, check_output, stage, write};

/// Sets the number of cores that decode and encode chunks of Zarr stores (default: all cores of the machine). All
/// movements of the process share these cores.
pub fn use_cores(count: Option<usize>) {
    #[cfg(feature = "zarr")]
    trundle_zarr::use_cores(count);
    #[cfg(not(feature = "zarr"))]
    let _ = count;
}
