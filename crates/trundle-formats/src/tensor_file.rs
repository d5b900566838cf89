//! A file opened for reading.

use std::fmt;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;

use crate::attributes;
use crate::contents::Contents;
use crate::error::file_name;
use crate::format::{FIRST_BYTES, GZIP_MAGIC, gzip_refused};
use crate::source::Source;
#[cfg(feature = "zarr")]
use crate::zarr;
use crate::{
    Annotations, Blob, Error, FORMATS, Format, Header, Problem, Progress, TensorHint, Unreadable,
};

/// A file of tensors: what it holds is known, the data is read when it is asked for.
pub struct TensorFile {
    /// What messages call it.
    file: String,
    format: &'static Format,
    contents: Box<dyn Contents>,
}

/// The format of a file by its first bytes; .npy for a stream of which they tell nothing. A file that
/// is compressed as a whole is refused.
fn guessed(source: &mut Source, hint: &TensorHint) -> Result<Option<&'static Format>, Problem> {
    let first = source.peek(FIRST_BYTES)?;
    let format = Format::of_start(&first, hint);
    if format.is_none() && first.starts_with(GZIP_MAGIC) {
        return Err(gzip_refused());
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
    /// Reads what the file at `path` holds, in the format of its ending. Where no format has the
    /// ending, as none has that of `-`, which is stdin, the first bytes tell the format.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read, neither ending nor bytes tell a format, or it is
    /// malformed, not supported or too short for what it claims to hold.
    pub fn open(path: &Path) -> Result<TensorFile, Error> {
        TensorFile::open_as(path, &TensorHint::default())
    }

    /// The same, of a file whose tensor is known to be what `hint` says.
    ///
    /// # Errors
    /// As [`TensorFile::open`], and if the hint lacks something that the file does not
    /// state, or the file does not hold what it says.
    pub fn open_as(path: &Path, hint: &TensorHint) -> Result<TensorFile, Error> {
        TensorFile::open_from(Format::of_ending(path), hint, path)
    }

    /// The same in this format, whatever the ending; by its first bytes if there is none. A file
    /// whose tensor is described, or that has an offset, and that does not begin as one of numpy's
    /// is then raw bytes. A stream of which nothing is known is taken for .npy.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`].
    pub fn open_from(
        format: Option<&'static Format>,
        hint: &TensorHint,
        path: &Path,
    ) -> Result<TensorFile, Error> {
        let open = || {
            if path.as_os_str().is_empty() {
                return Err(Format::unknown_ending(path, false));
            }
            #[cfg(feature = "zarr")]
            if let Some(contents) = zarr::open_folder(path, format, hint)? {
                return Ok((&zarr::FORMAT, contents));
            }
            let mut source = Source::open(path)?;
            let format = match format {
                Some(format) => format,
                None => guessed(&mut source, hint)?
                    .ok_or_else(|| Format::unknown_ending(path, false))?,
            };
            Ok((format, format.open(source, hint)?))
        };
        let (format, contents) = open().map_err(|problem| Error::at(path, "stdin", problem))?;
        Ok(TensorFile { file: file_name(path, "stdin"), format, contents })
    }

    /// Reads what the file at `path` holds in `format`; messages name `shown`.
    pub(crate) fn open_in(
        format: &'static Format,
        hint: &TensorHint,
        path: &Path,
        shown: &Path,
    ) -> Result<TensorFile, Error> {
        let error = |problem| Error::at(shown, "stdin", problem);
        let source = Source::open(path).map_err(error)?;
        let contents = format.open(source, hint).map_err(error)?;
        Ok(TensorFile { file: file_name(shown, "stdin"), format, contents })
    }

    /// Reads what comes out of `reader`, once and from front to back. `name` names it in messages,
    /// and its tensor if it holds one without a name.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`]; that the data is too short is seen when it is loaded. Formats
    /// that are read from their end, .npz and .pt, are refused.
    pub fn from_reader(
        format: &'static Format,
        hint: &TensorHint,
        name: &str,
        reader: impl Read + Send + 'static,
    ) -> Result<TensorFile, Error> {
        TensorFile::from_source(format, hint, Source::stream(name, Box::new(reader)))
    }

    /// Reads a file that is in memory already. `name` names it in messages, and its tensor if it
    /// holds one without a name.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`].
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
        match format.open(source, hint) {
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
        &self.contents.listing().headers
    }

    /// What else it has, of which nothing but the name can be told: members of an .npz that hold
    /// Python objects, or are no .npy files, quantised tensors of a .gguf. A file in which there is
    /// nothing else is refused.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.contents.listing().unreadable
    }

    /// Reads a stream, of which nothing but the headers is wanted, on to its end: whoever writes to
    /// it is not cut off, and it is known to be whole. Of a file, that is known.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read, or its data is too short.
    pub fn read_on(&mut self) -> Result<(), Error> {
        let read = self.contents.read_on();
        read.map_err(|problem| Error { file: self.file.clone(), problem })
    }

    /// Pairs of strings that it keeps beside its tensors, in order: `__metadata__` of .safetensors,
    /// and what other formats have in its place.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.contents.listing().metadata
    }

    /// The annotations of the tensor at `index`. The file's metadata is among the attributes if the tensor is the
    /// whole file.
    ///
    /// # Panics
    /// If `index` is not below the number of headers.
    pub fn annotations(&self, index: usize) -> Annotations {
        let own = &self.headers()[index].annotations;
        if !own.is_whole || self.metadata().is_empty() {
            return own.clone();
        }
        let mut all = attributes::of_metadata(self.metadata());
        all.extend(attributes::of_text(&own.attributes));
        Annotations { attributes: Value::Object(all).to_string(), ..own.clone() }
    }

    /// What it says as a whole and its reader cannot hold, as messages call it;
    /// [`Annotations::unread`](crate::Annotations::unread) has the same of each tensor.
    pub fn unread(&self) -> &[String] {
        &self.contents.listing().unread
    }

    /// The regular file or the bytes in memory that it is read from, `None` for a stream: for reads
    /// at a [`Header::data_offset`], which see no CRC-32.
    pub fn blob(&self) -> Option<&dyn Blob> {
        self.contents.blob()
    }

    /// Whether the file has CRC-32 of the data, which [`TensorFile::load`] and
    /// [`TensorFile::copy_to`] compare.
    pub fn has_crc32(&self) -> bool {
        self.contents.has_crc32()
    }

    /// The data of the tensor at `index` of [`TensorFile::headers`], exactly as long as its header
    /// says. `progress` is told the bytes read so far.
    ///
    /// # Errors
    /// [`Error`] if the data cannot be read, is too short or does not fit the memory, is not what
    /// its CRC-32 says, or is behind what was read already of a stream.
    ///
    /// # Panics
    /// If `index` is not below the number of headers.
    pub fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Error> {
        let loaded = self.contents.load(index, progress);
        loaded.map_err(|problem| Error { file: self.file.clone(), problem })
    }

    /// The same data, passed on to `out` from front to back in parts: it takes less than a
    /// megabyte of memory, however long the data is.
    ///
    /// # Errors
    /// As [`TensorFile::load`], and if `out` does not take it. What is wrong with a CRC-32 or the
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
