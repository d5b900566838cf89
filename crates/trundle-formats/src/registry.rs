//! Lists all formats, and finds a format by extension, name or content.

use std::path::Path;

use crate::error::is_stream;
#[cfg(feature = "hdf5")]
use crate::hdf5;
#[cfg(feature = "tiff")]
use crate::tiff;
use crate::url::without_query;
#[cfg(feature = "zarr")]
use crate::zarr;
use crate::{
    Error, Format, Problem, TensorHint, gguf, nifti, npy, npz, nrrd, pt, raw, safetensors,
};

/// All formats. The first is the default for stdin and stdout.
pub static FORMATS: &[Format] = &[
    npy::FORMAT,
    npz::FORMAT,
    safetensors::FORMAT,
    safetensors::INDEX,
    #[cfg(feature = "zarr")]
    zarr::FORMAT,
    #[cfg(feature = "hdf5")]
    hdf5::FORMAT,
    #[cfg(feature = "hdf5")]
    hdf5::NETCDF,
    gguf::FORMAT,
    nrrd::FORMAT,
    nifti::FORMAT,
    #[cfg(feature = "tiff")]
    tiff::FORMAT,
    pt::FORMAT,
    raw::FORMAT,
];

impl Format {
    /// numpy's .npy.
    pub const NPY: &Format = &npy::FORMAT;

    /// .safetensors, in one file.
    pub const SAFETENSORS: &Format = &safetensors::FORMAT;

    /// Raw bytes: the data of one tensor and nothing else.
    pub const RAW: &Format = &raw::FORMAT;

    /// Returns the format of an output by the extension of its path, in lower or upper case; .npy for `-`.
    ///
    /// # Errors
    /// [`Problem::UnknownEnding`] if no format has the extension.
    pub fn of(path: &Path) -> Result<&'static Format, Error> {
        if is_stream(path) {
            return Ok(&FORMATS[0]);
        }
        Format::of_ending(path)
            .ok_or_else(|| Error::at(path, "-", Format::unknown_ending(path, true)))
    }

    /// Returns the format of the extension of a path, in lower or upper case.
    pub fn of_ending(path: &Path) -> Option<&'static Format> {
        let name = without_query(path).file_name()?.as_encoded_bytes();
        let is_known = |known: &&str| {
            let parts = name.len().checked_sub(known.len()).map(|at| name.split_at(at));
            parts.is_some_and(|(stem, ending)| {
                stem.len() > 1
                    && stem.ends_with(b".")
                    && ending.eq_ignore_ascii_case(known.as_bytes())
            })
        };
        FORMATS.iter().find(|format| format.endings.iter().any(is_known))
    }

    /// Returns the format with this [name](Format::name).
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    pub(crate) fn unknown_ending(path: &Path, is_output: bool) -> Problem {
        let ending = path.extension().unwrap_or_default();
        let dot = if ending.is_empty() { "" } else { "." };
        let ending = format!("{dot}{}", ending.to_string_lossy());
        let formats = FORMATS.iter().filter(|format| !is_output || format.is_written());
        let known = formats.flat_map(Format::endings).map(|ending| format!(".{ending}")).collect();
        Problem::UnknownEnding { ending, known }
    }

    /// Returns the format of a file from its first [`FIRST_BYTES`] bytes and the hint.
    ///
    /// A hint with an offset means raw bytes. A hint with a type or a shape means raw bytes if no format recognises the
    /// file. A hint with both also means raw bytes if the file begins like a .safetensors file, because raw data can
    /// begin so by accident.
    pub(crate) fn of_start(first: &[u8], hint: &TensorHint) -> Option<&'static Format> {
        let TensorHint { element, shape, offset, .. } = hint;
        if offset.is_some() {
            return Some(&raw::FORMAT);
        }
        let begun = FORMATS.iter().find(|format| (format.begins)(first));
        let is_described = element.is_some() && shape.is_some();
        match begun {
            Some(format) if !is_described || format.name != safetensors::FORMAT.name => begun,
            None if element.is_none() && shape.is_none() => None,
            _ => Some(&raw::FORMAT),
        }
    }
}
