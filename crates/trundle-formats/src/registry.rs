//! The list of formats, and the ways to find one in it.

use std::path::Path;

use crate::error::is_stream;
#[cfg(feature = "hdf5")]
use crate::hdf5;
#[cfg(feature = "zarr")]
use crate::zarr;
use crate::{
    Error, Format, Problem, TensorHint, gguf, nifti, npy, npz, nrrd, pt, raw, safetensors,
};

/// Every format: one row each. The first is that of stdin and stdout.
pub static FORMATS: &[Format] = &[
    npy::FORMAT,
    npz::FORMAT,
    safetensors::FORMAT,
    #[cfg(feature = "zarr")]
    zarr::FORMAT,
    #[cfg(feature = "hdf5")]
    hdf5::FORMAT,
    #[cfg(feature = "hdf5")]
    hdf5::NETCDF,
    gguf::FORMAT,
    nrrd::FORMAT,
    nifti::FORMAT,
    pt::FORMAT,
    raw::FORMAT,
];

impl Format {
    /// Raw bytes: the data of one tensor, and nothing else.
    pub const RAW: &Format = &raw::FORMAT;

    /// The format of an output, by the path's ending in small or capital letters; .npy for `-`.
    ///
    /// # Errors
    /// [`Problem::UnknownEnding`] if no format has the ending.
    pub fn of(path: &Path) -> Result<&'static Format, Error> {
        if is_stream(path) {
            return Ok(&FORMATS[0]);
        }
        Format::of_ending(path)
            .ok_or_else(|| Error::at(path, "-", Format::unknown_ending(path, true)))
    }

    /// The format of the path's ending, in small or capital letters, if one has it.
    pub fn of_ending(path: &Path) -> Option<&'static Format> {
        let ending = path.extension().unwrap_or_default();
        let is_known = |known: &&str| ending.eq_ignore_ascii_case(known);
        FORMATS.iter().find(|format| format.endings.iter().any(is_known))
    }

    /// The format of this [name](Format::name).
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

    /// The format of a file whose ending tells none, by its first bytes, [`FIRST_BYTES`] if it has
    /// as many, and by what is said of it. Raw bytes are what has an offset, and what has a type and
    /// a shape and does not begin as numpy's files do: by accident, they never begin so.
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
