//! OpenVINO's intermediate representation, versions 10 and 11: a graph in XML, and a file with the bytes of its
//! constants.
//!
//! Both files are untrusted. Document types (and so entities) and namespaces are refused. The depth of the XML causes
//! no recursion. Layers with bodies (`If`, `Loop`, `TensorIterator`) are refused without reading the bodies. Memory use
//! depends on the sizes of the files, not on sizes that they claim.
//!
//! - An input has the name of its Parameter layer.
//! - An output has the first of these names that exists: the tensor names of its Result layer (`output_names`), the
//!   names of the port that the Result reads (`names`), the name of the layer that it reads (in version 10 only, as in
//!   OpenVINO), the name of the Result.
//! - If a name is taken, the next one is used, and at last `input_1` or `output_1`, or a higher number.

mod arithmetic;
mod document;
mod element;
mod fragment;
mod interpolate;
mod layer;
mod names;
mod operators;
mod reader;
mod shape;
mod weights;
mod wiring;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use self::weights::Weights;
use crate::{Error, Links, Model, Result};

pub use self::fragment::{Fragment, read_layer};

/// Reads the OpenVINO IR model of an .xml file.
///
/// Its constants are in the .bin file with the same name, which is opened only if a constant has elements.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read, [`Error::Link`] if the .bin file is a link to a file outside the
/// folder, and the errors of [`read_parts`].
pub fn read(path: &Path) -> Result<Model> {
    read_with(path, Links::Within)
}

/// Like [`read`], but the .bin file may be a link to a destination that `links` allows.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, links: Links) -> Result<Model> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(failed)?;
    let xml =
        str::from_utf8(&bytes).map_err(|error| Error::Malformed(format!("not text: {error}")))?;
    reader::read(xml, Weights::file(path.with_extension("bin"), links))
}

/// Reads a model from the text of its .xml file and the bytes of its .bin file.
///
/// # Errors
/// [`Error::Malformed`] if `xml` is not a model of version 10 or 11; [`Error::Unsupported`] if the model
/// has layers that do not move elements.
pub fn read_parts(xml: &str, weights: &[u8]) -> Result<Model> {
    reader::read(xml, Weights::bytes(weights))
}
