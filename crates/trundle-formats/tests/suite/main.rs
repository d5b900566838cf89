//! Tests of reading and writing all file formats, including malformed files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod archive;
mod folders;
mod gguf;
#[cfg(feature = "hdf5")]
mod hdf5;
mod leftover;
mod nifti;
mod npy;
mod npz;
mod nrrd;
mod output;
mod pt;
mod raw;
mod safetensors;
mod skeleton;
mod support;
#[cfg(feature = "tiff")]
mod tiff;
