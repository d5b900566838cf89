//! Where the bytes of a file come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::is_stream;
use crate::{Problem, Progress};

/// Bytes are read in pieces of this size, each reported to whoever watches the progress.
const CHUNK_BYTES: usize = 8 << 20;

/// The most that is reserved for a stream before a byte of it has arrived.
const FIRST_STREAM_BYTES: usize = 1 << 20;

/// An input: a regular file, which has a length, or a stream, which is read once from front to back.
pub(crate) struct Source {
    name: String,
    input: Input,
    /// Bytes from the start of the input.
    position: u64,
}

enum Input {
    File { file: File, length: u64 },
    Stream(Box<dyn Read + Send>),
}

impl Source {
    /// The file at `path`, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> Result<Source, Problem> {
        if is_stream(path) {
            return Ok(Source::stream("stdin", Box::new(io::stdin())));
        }
        let opening = |source| Problem::Io { doing: "open", source };
        let file = File::open(path).map_err(opening)?;
        let metadata = file.metadata().map_err(opening)?;
        if metadata.is_dir() {
            return Err(Problem::Folder);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if !metadata.is_file() {
            return Ok(Source::stream(&name, Box::new(file)));
        }
        let input = Input::File { file, length: metadata.len() };
        Ok(Source { name: name.into_owned(), input, position: 0 })
    }

    pub(crate) fn stream(name: &str, reader: Box<dyn Read + Send>) -> Source {
        Source { name: name.to_owned(), input: Input::Stream(reader), position: 0 }
    }

    /// The name of the tensor in a file of one.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the whole input, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.input {
            Input::File { length, .. } => Some(length),
            Input::Stream(_) => None,
        }
    }

    /// Goes to a place, in bytes from the start. A stream goes there by reading, and not back.
    pub(crate) fn seek_to(&mut self, offset: u64) -> Result<(), Problem> {
        match &mut self.input {
            Input::File { file, .. } => {
                self.position = file.seek(SeekFrom::Start(offset)).map_err(Problem::reading)?;
                Ok(())
            }
            Input::Stream(reader) if self.position <= offset => {
                let mut between = reader.take(offset - self.position);
                self.position +=
                    io::copy(&mut between, &mut io::sink()).map_err(Problem::reading)?;
                if self.position < offset {
                    return Err(Problem::OffsetBeyond { offset, length: self.position });
                }
                Ok(())
            }
            Input::Stream(_) => Err(Problem::reading(io::Error::new(
                io::ErrorKind::NotSeekable,
                format!("a stream at byte {} cannot go to byte {offset}", self.position),
            ))),
        }
    }

    /// The next `bytes` bytes, or fewer if the input ends before. Never reserves more than twice
    /// what has arrived where the length is not known. `progress` is told the bytes so far.
    pub(crate) fn read_data(
        &mut self,
        bytes: usize,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<u8>, Problem> {
        let mut data = Vec::new();
        let left = self.length().map(|length| length.saturating_sub(self.position));
        if let Some(left) = left {
            reserve(&mut data, bytes.min(usize::try_from(left).unwrap_or(usize::MAX)))?;
        }
        while data.len() < bytes {
            if data.len() == data.capacity() {
                let room = data.len().max(FIRST_STREAM_BYTES).min(bytes - data.len());
                reserve(&mut data, room)?;
            }
            let room = (data.capacity() - data.len()).min(bytes - data.len()).min(CHUNK_BYTES);
            // Straight into the reserved room, which is not filled with zeros first.
            let read = match &mut self.input {
                Input::File { file, .. } => file.take(room as u64).read_to_end(&mut data),
                Input::Stream(reader) => reader.take(room as u64).read_to_end(&mut data),
            };
            let read = read.map_err(Problem::reading)?;
            self.position += read as u64;
            if read < room {
                break;
            }
            progress(data.len() as u64);
        }
        Ok(data)
    }

    /// Whether the input ends here; if not, a byte of it is read.
    pub(crate) fn ends(&mut self) -> Result<bool, Problem> {
        let mut next = Vec::new();
        self.take(1).read_to_end(&mut next).map_err(Problem::reading)?;
        Ok(next.is_empty())
    }
}

fn reserve(data: &mut Vec<u8>, bytes: usize) -> Result<(), Problem> {
    data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes: data.len() + bytes })
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.input {
            Input::File { file, .. } => file.read(buffer)?,
            Input::Stream(reader) => reader.read(buffer)?,
        };
        self.position += read as u64;
        Ok(read)
    }
}
