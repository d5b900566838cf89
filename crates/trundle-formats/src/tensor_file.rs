//! A file opened for reading.

use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::error::file_name;
use crate::format::Contents;
use crate::source::Source;
use crate::{Description, Error, Format, Header, Progress};

/// A file of tensors: what it holds is known, the data is read when it is asked for.
pub struct TensorFile {
    /// What messages call it.
    file: String,
    format: &'static Format,
    contents: Box<dyn Contents>,
}

impl fmt::Debug for TensorFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("TensorFile");
        output.field("file", &self.file).field("headers", &self.headers()).finish_non_exhaustive()
    }
}

impl TensorFile {
    /// Reads what the file at `path` holds, in the format of its ending. `-` is stdin, as .npy.
    ///
    /// # Errors
    /// [`Error`] if the ending is unknown, the file cannot be read, or is malformed, not supported
    /// or too short for what it claims to hold.
    pub fn open(path: &Path) -> Result<TensorFile, Error> {
        TensorFile::open_as(path, &Description::default())
    }

    /// The same, of a file whose tensor is known to be what `description` says.
    ///
    /// # Errors
    /// As [`TensorFile::open`], and if the description lacks something that the file does not
    /// state, or the file does not hold what it says.
    pub fn open_as(path: &Path, description: &Description) -> Result<TensorFile, Error> {
        let format = Format::of(path).map_err(|problem| Error::at(path, "stdin", problem))?;
        TensorFile::open_in(format, description, path, path)
    }

    /// Reads what the file at `path` holds in `format`; messages name `shown`.
    pub(crate) fn open_in(
        format: &'static Format,
        description: &Description,
        path: &Path,
        shown: &Path,
    ) -> Result<TensorFile, Error> {
        let error = |problem| Error::at(shown, "stdin", problem);
        let source = Source::open(path).map_err(error)?;
        let contents = format.open(source, description).map_err(error)?;
        Ok(TensorFile { file: file_name(shown, "stdin"), format, contents })
    }

    /// Reads what comes out of `reader`, once and from front to back. `name` names it in messages,
    /// and its tensor if it holds one without a name.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`]; that the data is too short is seen when it is loaded.
    pub fn from_reader(
        format: &'static Format,
        description: &Description,
        name: &str,
        reader: impl Read + Send + 'static,
    ) -> Result<TensorFile, Error> {
        let source = Source::stream(name, Box::new(reader));
        let file = name.to_owned();
        match format.open(source, description) {
            Ok(contents) => Ok(TensorFile { file, format, contents }),
            Err(problem) => Err(Error { file, problem }),
        }
    }

    /// The format it is read in.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Each tensor it holds.
    pub fn headers(&self) -> &[Header] {
        self.contents.headers()
    }

    /// The data of the tensor at `index` of [`TensorFile::headers`], exactly as long as its header
    /// says. `progress` is told the bytes read so far.
    ///
    /// # Errors
    /// [`Error`] if the data cannot be read, is too short or does not fit the memory, or is
    /// behind what was read already of a stream.
    ///
    /// # Panics
    /// If `index` is not below the number of headers.
    pub fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Error> {
        let loaded = self.contents.load(index, progress);
        loaded.map_err(|problem| Error { file: self.file.clone(), problem })
    }
}
