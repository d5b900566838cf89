//! A file that is open for reading.

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::attributes;
use crate::contents::Contents;
use crate::error::file_name;
use crate::format::FIRST_BYTES;
use crate::gunzip::GZIP_MAGIC;
use crate::source::Source;
use crate::url::check_url;
#[cfg(feature = "zarr")]
use crate::url::is_url;
#[cfg(feature = "zarr")]
use crate::zarr::{self, is_not_allowed};
use crate::{
    Annotations, Blob, Error, FORMATS, Format, Header, Problem, Progress, TensorHint,
    UndecodedTensor, Unreadable,
};

/// An open file of tensors. Opening it reads the headers; further calls read the data.
pub struct TensorFile {
    file: String,
    format: &'static Format,
    contents: Box<dyn Contents>,
}

/// Guesses the format from the hint and the first bytes; .npy for a stream of unknown format. Other files that are
/// compressed with gzip are refused.
fn guessed(source: &mut Source, hint: &TensorHint) -> Result<Option<&'static Format>, Problem> {
    let first = source.peek(FIRST_BYTES)?;
    let format = Format::of_start(&first, hint);
    if format.is_none() && first.starts_with(GZIP_MAGIC) {
        return Err(Problem::unsupported(
            "is compressed with gzip, and is not a NIfTI image: gunzip it first",
        ));
    }
    Ok(format.or_else(|| source.length().is_none().then_some(&FORMATS[0])))
}

impl fmt::Debug for TensorFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("TensorFile");
        output.field("file", &self.file).field("headers", &self.headers()).finish_non_exhaustive()
    }
}

impl TensorFile {
    fn new(file: String, format: &'static Format, contents: Box<dyn Contents>) -> TensorFile {
        TensorFile { file, format: contents.format().unwrap_or(format), contents }
    }

    /// Opens the file at `path` in the format of its extension, and reads its headers.
    ///
    /// If the extension is unknown, or `path` is `-` (stdin), the first bytes determine the format.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read, its format is unknown, or it is malformed, unsupported or truncated.
    pub fn open(path: &Path) -> Result<TensorFile, Error> {
        TensorFile::open_as(path, &TensorHint::default())
    }

    /// Opens the file like [`TensorFile::open`], with a hint for the properties that it does not state.
    ///
    /// # Errors
    /// The errors of [`TensorFile::open`], and if `hint` lacks something that the file does not state, or contradicts
    /// the file.
    pub fn open_as(path: &Path, hint: &TensorHint) -> Result<TensorFile, Error> {
        TensorFile::open_from(Format::of_ending(path), hint, path)
    }

    /// Opens the file in the given format. `None` selects the format by the first bytes.
    ///
    /// With `None`, a file is read as raw bytes if the hint has an offset, or if no format recognises the file and the
    /// hint has a type or a shape. Any other stream of unknown format is read as .npy.
    ///
    /// # Errors
    /// The errors of [`TensorFile::open_as`].
    pub fn open_from(
        format: Option<&'static Format>,
        hint: &TensorHint,
        path: &Path,
    ) -> Result<TensorFile, Error> {
        let open = || {
            if path.as_os_str().is_empty() {
                return Err(Format::unknown_ending(path, false));
            }
            check_url(path)?;
            #[cfg(feature = "zarr")]
            let probed = match zarr::open_folder(path, format, hint) {
                Ok(Some(contents)) => return Ok((&zarr::FORMAT, contents)),
                Ok(None) => None,
                // A server may allow to read the file, but refuse requests for objects below it.
                Err(problem) if format.is_none() && is_url(path) && is_not_allowed(&problem) => {
                    Some(problem)
                }
                Err(problem) => return Err(problem),
            };
            let source = Source::open(path);
            #[cfg(feature = "zarr")]
            let source = source.map_err(|problem| probed.unwrap_or(problem));
            let mut source = source?;
            let format = match format {
                Some(format) => format,
                None => guessed(&mut source, hint)?
                    .ok_or_else(|| Format::unknown_ending(path, false))?,
            };
            Ok((format, (format.open)(source, hint)?))
        };
        let (format, contents) = open().map_err(|problem| Error::at(path, "stdin", problem))?;
        Ok(TensorFile::new(file_name(path, "stdin"), format, contents))
    }

    /// Opens the file at `path` in `format`. Messages name the file `shown`.
    pub(crate) fn open_in(
        format: &'static Format,
        hint: &TensorHint,
        path: &Path,
        shown: &Path,
    ) -> Result<TensorFile, Error> {
        let error = |problem| Error::at(shown, "stdin", problem);
        let source = Source::open(path).map_err(error)?;
        let contents = (format.open)(source, hint).map_err(error)?;
        Ok(TensorFile::new(file_name(shown, "stdin"), format, contents))
    }

    /// Reads a file from `reader`, from front to back. `name` is used in messages and for unnamed tensors.
    ///
    /// # Errors
    /// The errors of [`TensorFile::open_as`], but truncated data is detected only when it is loaded. Formats that are
    /// read from their end (.npz and .pt) are refused.
    pub fn from_reader(
        format: &'static Format,
        hint: &TensorHint,
        name: &str,
        reader: impl Read + Send + 'static,
    ) -> Result<TensorFile, Error> {
        TensorFile::from_source(format, hint, Source::stream(name, Box::new(reader)))
    }

    /// Reads a file in memory. `name` is used in messages and for unnamed tensors.
    ///
    /// # Errors
    /// The errors of [`TensorFile::open_as`].
    pub fn from_bytes(
        format: &'static Format,
        hint: &TensorHint,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<TensorFile, Error> {
        TensorFile::from_source(format, hint, Source::memory(name, bytes))
    }

    fn from_source(
        format: &'static Format,
        hint: &TensorHint,
        source: Source,
    ) -> Result<TensorFile, Error> {
        let file = source.name().to_owned();
        match (format.open)(source, hint) {
            Ok(contents) => Ok(TensorFile::new(file, format, contents)),
            Err(problem) => Err(Error { file, problem }),
        }
    }

    /// Returns the format of the file.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns the headers of all readable tensors, in the order of their data.
    pub fn headers(&self) -> &[Header] {
        &self.contents.listing().headers
    }

    /// Returns the entries that are not readable tensors: members of an .npz with Python objects or in another format,
    /// and quantised tensors of a .gguf. A file without readable tensors is refused when it is opened.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.contents.listing().unreadable
    }

    /// Returns those [unreadable](TensorFile::unreadable) tensors that can be copied without decoding.
    pub fn undecoded(&self) -> &[UndecodedTensor] {
        self.contents.undecoded()
    }

    /// Reads a stream to its end, which spares its writer a broken pipe, and checks that it is complete. Does nothing
    /// for files.
    ///
    /// # Errors
    /// [`Error`] if the stream cannot be read or is truncated.
    pub fn read_on(&mut self) -> Result<(), Error> {
        let read = self.contents.read_on();
        read.map_err(|problem| Error { file: self.file.clone(), problem })
    }

    /// Returns the metadata of the file as pairs of strings, in order: `__metadata__` of .safetensors, and the
    /// equivalent in other formats.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.contents.listing().metadata
    }

    /// Returns the annotations of the tensor at `index`, with the metadata of the file if the tensor is its only
    /// content.
    ///
    /// # Panics
    /// If `index` is not less than the number of headers.
    pub fn annotations(&self, index: usize) -> Annotations {
        let own = &self.headers()[index].annotations;
        if !own.is_whole || self.metadata().is_empty() {
            return own.clone();
        }
        let mut all = attributes::of_metadata(self.metadata());
        all.extend(attributes::of_text(&own.attributes));
        Annotations { attributes: trundle_json::to_text(&Value::Object(all)), ..own.clone() }
    }

    /// Describes metadata of the file that the reader could not represent. For tensors, see
    /// [`Annotations::unread`](crate::Annotations::unread).
    pub fn unread(&self) -> &[String] {
        &self.contents.listing().unread
    }

    /// Returns the file or memory for reads at a [`Header::data_offset`]; `None` for a stream. Such reads do not check
    /// CRC-32 values.
    pub fn blob(&self) -> Option<&dyn Blob> {
        self.contents.blob()
    }

    /// Returns the paths of the files with the data. They differ from the path of the file if it names other files.
    pub fn data_files(&self) -> &[PathBuf] {
        self.contents.data_files()
    }

    /// Returns whether the file has CRC-32 values of the data, which [`TensorFile::load`] and [`TensorFile::copy_to`]
    /// check.
    pub fn has_crc32(&self) -> bool {
        self.contents.has_crc32()
    }

    /// Reads the data of the tensor at `index` of [`TensorFile::headers`]. Calls `progress` with the bytes read so far.
    ///
    /// # Errors
    /// [`Error`] if the data cannot be read, is truncated, does not fit into memory or has a wrong CRC-32, or if a
    /// stream has already passed it.
    ///
    /// # Panics
    /// If `index` is not less than the number of headers.
    pub fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Error> {
        let loaded = self.contents.load(index, progress);
        loaded.map_err(|problem| Error { file: self.file.clone(), problem })
    }

    /// Copies the data of the tensor at `index` to `out` in parts.
    ///
    /// # Errors
    /// The errors of [`TensorFile::load`], and if `out` fails. A wrong CRC-32 or truncated data is detected only after
    /// the data was written to `out`.
    ///
    /// # Panics
    /// If `index` is not less than the number of headers.
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
