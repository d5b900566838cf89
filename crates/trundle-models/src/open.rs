//! A model file in the dialect of its ending.

use std::path::Path;

use crate::{Error, Links, Model, Result, onnx, openvino};

/// Reads a model of a dialect.
type Read = fn(&Path, Links) -> Result<Model>;

/// The dialects, by the endings of their files.
const DIALECTS: [(&str, Read); 2] = [("xml", openvino::read_with), ("onnx", onnx::read_with)];

impl Model {
    /// Reads the model at `path`: OpenVINO IR for `.xml`, with its weights in the `.bin` beside it,
    /// ONNX for `.onnx`.
    ///
    /// # Errors
    /// [`Error::Malformed`] for another ending, and what the dialect's reader refuses.
    pub fn open(path: &Path) -> Result<Model> {
        Model::open_with(path, Links::Within)
    }

    /// Whether this is the name of a model's file, by its ending.
    pub fn is_known(path: &Path) -> bool {
        let ending = path.extension().unwrap_or_default();
        DIALECTS.iter().any(|(known, _)| ending.eq_ignore_ascii_case(known))
    }

    /// The same, with files beside the model that may be links to these places.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn open_with(path: &Path, links: Links) -> Result<Model> {
        let ending = path.extension().unwrap_or_default();
        let dialect = DIALECTS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        let Some((_, read)) = dialect else {
            let path = path.display();
            return Err(Error::Malformed(format!(
                "{path}: not the ending of a model: expected .xml or .onnx"
            )));
        };
        read(path, links).map_err(|error| error.within(path))
    }
}
