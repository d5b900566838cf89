//! OpenVINO's intermediate representation, versions 10 and 11: a graph in XML, and beside it the
//! bytes of its constants.
//!
//! Both files are untrusted. The XML may hold no document type, and so no entities, and no
//! namespaces; nothing recurs with its depth; bodies within layers (`If`, `Loop`,
//! `TensorIterator`) are refused with their layer before anybody looks into them. No memory is
//! taken by what a file claims, only by what is there.
//!
//! - An input's name is its Parameter layer's.
//! - An output's name is the first tensor name that its Result layer gives (`output_names`), else
//!   the first of the port that the Result reads (`names`), else, in version 10, the name of the
//!   layer that it reads, as OpenVINO names outputs there, else the Result's own.
//! - A name that is taken gives way to the next of these, at last to `input_1` or `output_1`.

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

/// The model in an .xml file. Its constants are in the file of the same name that ends in .bin,
/// which is opened only if a constant has elements.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read, and as [`read_parts`].
pub fn read(path: &Path) -> Result<Model> {
    read_with(path, Links::Within)
}

/// [`read`], with constants in a file that may be a link to these places.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, links: Links) -> Result<Model> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(failed)?;
    let xml =
        str::from_utf8(&bytes).map_err(|error| Error::Malformed(format!("not a text: {error}")))?;
    reader::read(xml, Weights::file(path.with_extension("bin"), links))
}

/// The model whose graph is `xml` and whose constants are in `weights`.
///
/// # Errors
/// [`Error::Malformed`] if it is no model of these versions, [`Error::Unsupported`] if it holds
/// what does not move elements.
pub fn read_parts(xml: &str, weights: &[u8]) -> Result<Model> {
    reader::read(xml, Weights::bytes(weights))
}
