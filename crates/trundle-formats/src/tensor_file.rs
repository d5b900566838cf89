//! A file opened for reading.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
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
        TensorFile::open_in(Format::of(path)?, description, path, path)
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
    /// As [`TensorFile::open_as`]; that the data is too short is seen when it is loaded. Formats
    /// that are read from their end, .npz, are refused.
    pub fn from_reader(
        format: &'static Format,
        description: &Description,
        name: &str,
        reader: impl Read + Send + 'static,
    ) -> Result<TensorFile, Error> {
        TensorFile::from_source(format, description, Source::stream(name, Box::new(reader)))
    }

    /// Reads a file that is in memory already. `name` names it in messages, and its tensor if it
    /// holds one without a name.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`].
    pub fn from_bytes(
        format: &'static Format,
        description: &Description,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<TensorFile, Error> {
        TensorFile::from_source(format, description, Source::memory(name, bytes))
    }

    fn from_source(
        format: &'static Format,
        description: &Description,
        source: Source,
    ) -> Result<TensorFile, Error> {
        let file = source.name().to_owned();
        match format.open(source, description) {
            Ok(contents) => Ok(TensorFile { file, format, contents }),
            Err(problem) => Err(Error { file, problem }),
        }
    }

    /// The format it is read in.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Each tensor it holds, in the order of the data.
    pub fn headers(&self) -> &[Header] {
        self.contents.headers()
    }

    /// Pairs of texts that it keeps beside its tensors, in order: `__metadata__` of .safetensors.
    pub fn metadata(&self) -> &[(String, String)] {
        self.contents.metadata()
    }

    /// The regular file that it is read from, `None` for a stream or memory: for reads at a
    /// [`Header::data_offset`], which see no checksums.
    pub fn file(&self) -> Option<&File> {
        self.contents.source().file()
    }

    /// Whether the file has checksums of the data, which [`TensorFile::load`] and
    /// [`TensorFile::copy_to`] compare.
    pub fn has_checksums(&self) -> bool {
        self.contents.has_checksums()
    }

    /// The data of the tensor at `index` of [`TensorFile::headers`], exactly as long as its header
    /// says. `progress` is told the bytes read so far.
    ///
    /// # Errors
    /// [`Error`] if the data cannot be read, is too short or does not fit the memory, is not what
    /// its checksum says, or is behind what was read already of a stream.
    ///
    /// # Panics
    /// If `index` is not below the number of headers.
    pub fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Error> {
        let loaded = self.contents.load(index, progress);
        loaded.map_err(|problem| Error { file: self.file.clone(), problem })
    }

    /// The same data, passed on to `out` from front to back in pieces: it takes less than a
    /// megabyte of memory, however long the data is.
    ///
    /// # Errors
    /// As [`TensorFile::load`], and if `out` does not take it. What is wrong with a checksum or the
    /// end of the data is known only after `out` has taken all of it.
    ///
    /// # Panics
    /// If `index` is not below the number of headers.
    pub fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let copied = self.contents.copy_to(index, out, progress);
        copied.map_err(|problem| Error { file: self.file.clone(), problem })
    }
}
