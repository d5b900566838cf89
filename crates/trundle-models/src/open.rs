//! Opens a model file with the reader for its extension.

use std::path::Path;

use crate::{Error, Links, Model, Result, onnx, openvino};

type Read = fn(&Path, Links) -> Result<Model>;

const DIALECTS: [(&str, Read); 2] = [("xml", openvino::read_with), ("onnx", onnx::read_with)];

impl Model {
    /// Reads an `.onnx` file, or the `.xml` file of an OpenVINO IR, whose weights are in the `.bin` file with the same
    /// name.
    ///
    /// # Errors
    /// [`Error::Malformed`] for any other extension, and the errors of [`onnx::read`](crate::onnx::read) or
    /// [`openvino::read`](crate::openvino::read).
    pub fn open(path: &Path) -> Result<Model> {
        Model::open_with(path, Links::Within)
    }

    /// Whether the file name has the extension of a model.
    pub fn is_known(path: &Path) -> bool {
        let ending = path.extension().unwrap_or_default();
        DIALECTS.iter().any(|(known, _)| ending.eq_ignore_ascii_case(known))
    }

    /// Like [`Model::open`]; `links` limits where links in the model's folder may lead.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn open_with(path: &Path, links: Links) -> Result<Model> {
        let ending = path.extension().unwrap_or_default();
        let dialect = DIALECTS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        let Some((_, read)) = dialect else {
            let path = path.display();
            return Err(Error::Malformed(format!(
                "{path}: not a model file: expected the ending .xml or .onnx"
            )));
        };
        read(path, links).map_err(|error| error.within(path))
    }
}
