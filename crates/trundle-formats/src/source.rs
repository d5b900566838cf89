//! The input of a file reader.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::concatenated::Concatenated;
use crate::error::is_stream;
use crate::gunzip::{GzipData, MOST_INFLATED};
use crate::names::{check_relative, folder_of};
#[cfg(not(feature = "remote"))]
use crate::url::no_remote;
use crate::url::{url_beside, url_of};
use crate::{Blob, Problem};

/// The bytes of a read, after which progress is reported.
const CHUNK_BYTES: usize = 8 << 20;

const COPY_BYTES: usize = 256 << 10;

/// The largest buffer in bytes that is reserved for a stream before any of its data has arrived.
const FIRST_STREAM_BYTES: usize = 1 << 20;

/// Receives the number of data bytes read or written so far.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

/// An input: files or memory of known length, gzip data in them, or a stream, which is read once from front to back.
pub(crate) struct Source {
    name: String,
    /// The paths of the files with the bytes; empty for memory and streams.
    files: Vec<PathBuf>,
    /// The name of this file in the file that names it.
    beside: Option<String>,
    input: Input,
    /// The offset from the start of the input, in bytes.
    position: u64,
}

enum Input {
    File {
        file: File,
        length: u64,
    },
    Memory(Cursor<Vec<u8>>),
    /// Bytes elsewhere: several files, or an object of a bucket or a server.
    Blob(Arc<dyn Blob>),
    Gzip(Box<GzipData>),
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// Returns the bytes for random access, or else the reader of a stream.
    fn into_blob(self) -> Result<Arc<dyn Blob>, Box<dyn Read + Send>> {
        match self {
            Input::File { file, .. } => Ok(Arc::new(file)),
            Input::Memory(bytes) => Ok(Arc::new(bytes)),
            Input::Blob(bytes) => Ok(bytes),
            Input::Gzip(data) => Err(Box::new(data.reader)),
            Input::Stream(reader) => Err(reader),
        }
    }
}

impl Source {
    /// Opens the file at `path`; `-` is stdin.
    pub(crate) fn open(path: &Path) -> Result<Source, Problem> {
        if is_stream(path) {
            return Ok(Source::stream("stdin", Box::new(io::stdin())));
        }
        if let Some(url) = url_of(path) {
            return Source::remote(path, url);
        }
        let file = File::open(path).map_err(Problem::opening)?;
        let metadata = file.metadata().map_err(Problem::opening)?;
        if metadata.is_dir() {
            return Err(Problem::Folder);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if !metadata.is_file() {
            return Ok(Source::stream(&name, Box::new(file)));
        }
        let input = Input::File { file, length: metadata.len() };
        Ok(Source { files: vec![path.to_owned()], ..Source::of(&name, input) })
    }

    /// Opens the object at a URL.
    #[cfg(feature = "remote")]
    fn remote(path: &Path, url: &str) -> Result<Source, Problem> {
        use trundle_remote::{Opened, RemoteFile};

        let (name, opened) = RemoteFile::open(url).map_err(Problem::opening)?;
        let name = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy();
        Ok(match opened {
            Opened::Stream(reader) => Source::stream(&name, reader),
            Opened::File(file) => {
                let files = vec![path.to_owned()];
                Source { files, ..Source::of(&name, Input::Blob(Arc::new(file))) }
            }
        })
    }

    #[cfg(not(feature = "remote"))]
    fn remote(_: &Path, _: &str) -> Result<Source, Problem> {
        Err(no_remote())
    }

    fn of(name: &str, input: Input) -> Source {
        Source { name: name.to_owned(), files: Vec::new(), beside: None, input, position: 0 }
    }

    pub(crate) fn stream(name: &str, reader: Box<dyn Read + Send>) -> Source {
        Source::of(name, Input::Stream(reader))
    }

    #[cfg(feature = "zarr")]
    pub(crate) fn of_blob(bytes: Arc<dyn Blob>) -> Source {
        Source::of("", Input::Blob(bytes))
    }

    pub(crate) fn memory(name: &str, bytes: Vec<u8>) -> Source {
        Source::of(name, Input::Memory(Cursor::new(bytes)))
    }

    /// Opens a file that this one names: a file in the folder of this one, or below it. A link may only lead to the
    /// same folder, or to the folder of the file to which this one is a link.
    pub(crate) fn open_beside(&self, name: &str) -> Result<Source, Problem> {
        let open = |own: &Path| {
            check_relative(name).map_err(|why| Problem::Malformed(format!("its name {why}")))?;
            if let Some(url) = url_beside(own, name) {
                let beside = Some(name.to_owned());
                return Ok(Source { beside, ..Source::open(Path::new(&url))? });
            }
            let real = |path: &Path| path.canonicalize().map_err(Problem::opening);
            let found = real(&folder_of(own).join(name))?;
            // In a cache such as Hugging Face's, each file is a link, and all lead to one folder.
            let folders = [real(folder_of(own))?, folder_of(&real(own)?).to_owned()];
            if !folders.iter().any(|folder| found.starts_with(folder)) {
                return Err(Problem::unsupported(
                    "is a link that leads out of its folder: replace it by a copy of the file",
                ));
            }
            match found.is_file() {
                true => Ok(Source { beside: Some(name.to_owned()), ..Source::open(&found)? }),
                false => Err(Problem::unsupported("is not a file")),
            }
        };
        let own = self.files.first().ok_or_else(|| {
            let why =
                "names other files in its folder, so it must be a file, not a stream or memory";
            Problem::unsupported(why)
        })?;
        open(own).map_err(|problem| Problem::beside(name, problem))
    }

    /// Adds the name of this file to a problem if another file names it. Errors of writing concern an output.
    pub(crate) fn named(&self, problem: Problem) -> Problem {
        match (&self.beside, problem) {
            (_, problem @ Problem::Io { doing: "write", .. }) | (None, problem) => problem,
            (Some(name), problem) => Problem::beside(name, problem),
        }
    }

    /// Returns a source with the same name and other files.
    pub(crate) fn with_files(self, files: Vec<PathBuf>, bytes: Concatenated) -> Source {
        Source { files, input: Input::Blob(Arc::new(bytes)), position: 0, ..self }
    }

    /// Returns a source with the same name and files, but other bytes, which are made from the bytes of this source.
    ///
    /// # Errors
    /// [`Problem::Unsupported`] for a stream.
    pub(crate) fn with_blob(
        self,
        make: impl FnOnce(Arc<dyn Blob>) -> Arc<dyn Blob>,
    ) -> Result<Source, Problem> {
        let Source { name, files, beside, input, .. } = self;
        let blob = input.into_blob();
        let blob =
            blob.map_err(|_| Problem::unsupported("a stream cannot be read at any offset"))?;
        Ok(Source { name, files, beside, input: Input::Blob(make(blob)), position: 0 })
    }

    /// Returns a source of the bytes into which the rest of this one decompresses.
    pub(crate) fn gunzip(self) -> Source {
        let Source { input, position, .. } = self;
        let data = match input.into_blob() {
            Ok(blob) => GzipData::new(blob, position),
            Err(rest) => GzipData::stream(rest),
        };
        Source { input: Input::Gzip(Box::new(data)), position: 0, ..self }
    }

    /// Returns the files or the memory; `None` for a stream. The bytes of this source are at the same offsets there,
    /// unless they are [compressed](Source::is_gzip).
    pub(crate) fn blob(&self) -> Option<&dyn Blob> {
        match &self.input {
            Input::File { file, .. } => Some(file),
            Input::Memory(bytes) => Some(bytes),
            Input::Blob(bytes) => Some(&**bytes),
            Input::Gzip(data) => data.blob.as_deref(),
            Input::Stream(_) => None,
        }
    }

    /// Returns the blob of a source that is not compressed, to share it between threads.
    pub(crate) fn into_blob(self) -> Option<Arc<dyn Blob>> {
        self.input.into_blob().ok()
    }

    /// Returns the paths of the files with the bytes.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns whether the bytes are decompressed while they are read.
    pub(crate) fn is_gzip(&self) -> bool {
        matches!(self.input, Input::Gzip(_))
    }

    /// Returns the most bytes to which the input can decompress, if it is compressed and its length is known.
    pub(crate) fn most_bytes(&self) -> Option<u64> {
        match &self.input {
            Input::Gzip(data) => Some(data.bytes()?.saturating_mul(MOST_INFLATED)),
            _ => None,
        }
    }

    /// Returns the name for the tensor of a format without names.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the length of the input in bytes, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.input {
            Input::File { length, .. } => Some(*length),
            Input::Memory(bytes) => Some(bytes.get_ref().len() as u64),
            Input::Blob(bytes) => bytes.bytes().ok(),
            Input::Gzip(_) | Input::Stream(_) => None,
        }
    }

    /// Moves to an offset from the start. A stream only moves forwards, by reading. Compressed data is read from its
    /// start again to move backwards.
    pub(crate) fn seek_to(&mut self, offset: u64) -> Result<(), Problem> {
        let is_behind = offset < self.position;
        match &mut self.input {
            Input::File { .. } | Input::Memory(_) | Input::Blob(_) => {
                self.seek(SeekFrom::Start(offset)).map_err(Problem::reading)?;
            }
            Input::Gzip(data) if is_behind && data.blob.is_some() => {
                data.restart();
                self.position = 0;
            }
            Input::Gzip(_) | Input::Stream(_) if is_behind => {
                return Err(Problem::reading(io::Error::new(
                    io::ErrorKind::NotSeekable,
                    format!("a stream at byte {} cannot go to byte {offset}", self.position),
                )));
            }
            Input::Gzip(_) | Input::Stream(_) => {}
        }
        let between = offset - self.position;
        io::copy(&mut self.take(between), &mut io::sink()).map_err(Problem::reading)?;
        match self.position < offset {
            true => Err(Problem::OffsetBeyond { offset, length: self.position }),
            false => Ok(()),
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the first bytes, at most `most`, without consuming them.
    pub(crate) fn peek(&mut self, most: usize) -> Result<Vec<u8>, Problem> {
        let mut first = Vec::new();
        Read::take(&mut *self, most as u64).read_to_end(&mut first).map_err(Problem::reading)?;
        if let Input::Stream(reader) = &mut self.input {
            let rest = std::mem::replace(reader, Box::new(io::empty()));
            *reader = Box::new(Cursor::new(first.clone()).chain(rest));
            self.position = 0;
        } else {
            self.seek_to(0)?;
        }
        Ok(first)
    }

    pub(crate) fn read_on(&mut self) -> Result<(), Problem> {
        io::copy(self, &mut io::sink()).map(drop).map_err(Problem::reading)
    }

    /// Reads the next `bytes` bytes, or fewer if the input ends. If its length is unknown, reserves at most twice the
    /// bytes that have arrived. Calls `progress` with the bytes read so far.
    pub(crate) fn read_data(
        &mut self,
        bytes: usize,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<u8>, Problem> {
        let left = self.length().map_or(0, |length| length.saturating_sub(self.position));
        let data = match &mut self.input {
            Input::File { file, .. } => {
                // On Windows, reads at an offset change the position of the file.
                file.seek(SeekFrom::Start(self.position)).map_err(Problem::reading)?;
                read_data(file, bytes, left, progress)
            }
            Input::Memory(memory) => read_data(memory, bytes, left, progress),
            _ => return read_data(self, bytes, left, progress),
        };
        let data = data?;
        self.position += data.len() as u64;
        Ok(data)
    }

    /// Returns whether the input ends here. If not, one byte is consumed.
    pub(crate) fn ends(&mut self) -> Result<bool, Problem> {
        let mut next = Vec::new();
        self.take(1).read_to_end(&mut next).map_err(Problem::reading)?;
        Ok(next.is_empty())
    }
}

/// Reads the next `bytes` bytes of `reader`, or fewer if it ends. Reserves the `left` bytes that are known to exist,
/// and beyond them at most twice the bytes that have arrived. Calls `progress` with the bytes read so far.
pub(crate) fn read_data(
    reader: &mut impl Read,
    bytes: usize,
    left: u64,
    progress: &mut Progress<'_>,
) -> Result<Vec<u8>, Problem> {
    let mut data = Vec::new();
    reserve(&mut data, bytes.min(usize::try_from(left).unwrap_or(usize::MAX)))?;
    while data.len() < bytes {
        if data.len() == data.capacity() {
            let room = data.len().max(FIRST_STREAM_BYTES).min(bytes - data.len());
            reserve(&mut data, room)?;
        }
        let room = (data.capacity() - data.len()).min(bytes - data.len()).min(CHUNK_BYTES);
        // Read into the reserved memory without zeroing it first.
        let read = reader.take(room as u64).read_to_end(&mut data).map_err(Problem::reading)?;
        if read < room {
            break;
        }
        progress(data.len() as u64);
    }
    Ok(data)
}

/// Reads the next `bytes` bytes. Errors name them `part`.
pub(crate) fn read_exactly(
    reader: &mut dyn Read,
    part: &'static str,
    bytes: usize,
) -> Result<Vec<u8>, Problem> {
    let mut read = Vec::new();
    reader.take(bytes as u64).read_to_end(&mut read).map_err(Problem::reading)?;
    if read.len() < bytes {
        let (expected, got) = (bytes as u64, read.len() as u64);
        return Err(Problem::Truncated { part, expected, got });
    }
    Ok(read)
}

/// Copies the next `bytes` bytes of `reader`, or fewer if it ends, and returns their number. Calls `progress` with the
/// bytes copied so far.
pub(crate) fn copy(
    reader: &mut impl Read,
    bytes: u64,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<u64, Problem> {
    let room = usize::try_from(bytes).unwrap_or(usize::MAX).min(COPY_BYTES);
    let mut part = vec![0; room];
    let mut copied = 0;
    while copied < bytes {
        let room = usize::try_from(bytes - copied).unwrap_or(usize::MAX).min(COPY_BYTES);
        let read = match reader.read(&mut part[..room]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Problem::reading(error)),
        };
        out.write_all(&part[..read]).map_err(Problem::writing)?;
        copied += read as u64;
        progress(copied);
    }
    Ok(copied)
}

fn reserve(data: &mut Vec<u8>, bytes: usize) -> Result<(), Problem> {
    data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes: data.len() + bytes })
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.input {
            Input::File { file, .. } => file.read_at(buffer, self.position)?,
            Input::Memory(memory) => memory.read(buffer)?,
            Input::Blob(bytes) => bytes.read_at(buffer, self.position)?,
            Input::Gzip(data) => data.reader.read(buffer)?,
            Input::Stream(reader) => reader.read(buffer)?,
        };
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.length().ok_or(io::ErrorKind::NotSeekable)?;
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(distance) => end.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = offset.ok_or(io::ErrorKind::InvalidInput)?;
        if let Input::Memory(memory) = &mut self.input {
            memory.set_position(self.position);
        }
        Ok(self.position)
    }
}
