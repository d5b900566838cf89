//! Presents several files as one sequence of bytes.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::{Blob, BlobIdentity};

/// The bytes of several files, one file after the other.
#[derive(Debug, Default)]
pub(crate) struct Concatenated {
    /// The files, each with the offset at which its bytes begin.
    files: Vec<(u64, NamedFile)>,
    end: u64,
}

#[derive(Debug)]
struct NamedFile {
    name: String,
    bytes: Arc<dyn Blob>,
}

impl Concatenated {
    /// Adds the file that errors call `name`, and returns the offset at which its bytes begin.
    pub(crate) fn push(&mut self, name: &str, file: Arc<dyn Blob>) -> io::Result<u64> {
        let begin = self.end;
        self.end = begin.checked_add(file.bytes()?).ok_or(io::ErrorKind::FileTooLarge)?;
        self.files.push((begin, NamedFile { name: name.to_owned(), bytes: file }));
        Ok(begin)
    }

    /// Returns the file that has the byte at `offset`, the offset in this file, and the number of bytes to its end.
    fn find(&self, offset: u64) -> Option<(&NamedFile, u64, u64)> {
        let next = self.files.partition_point(|(begin, _)| *begin <= offset);
        let end = self.files.get(next).map_or(self.end, |(begin, _)| *begin);
        let (begin, file) = self.files[..next].last().filter(|_| offset < end)?;
        Some((file, offset - begin, end - offset))
    }
}

impl NamedFile {
    fn error(&self, kind: io::ErrorKind, what: &str) -> io::Error {
        io::Error::new(kind, format!("file \"{}\": {what}", self.name))
    }
}

impl Blob for Concatenated {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.end)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((file, offset, left)) = self.find(offset) else { return Ok(0) };
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match file.bytes.read_at(&mut buffer[..count], offset) {
            Ok(0) if count > 0 => Err(file.error(io::ErrorKind::Other, "is shorter now")),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(file.error(error.kind(), &error.to_string()))
            }
            read => read,
        }
    }

    fn forget(&self, offset: u64, bytes: u64) {
        if let Some((file, offset, left)) = self.find(offset) {
            file.bytes.forget(offset, bytes.min(left));
        }
    }

    /// Returns the first file, for the disk of all.
    fn file(&self) -> Option<&File> {
        self.files.iter().find_map(|(_, file)| file.bytes.file())
    }

    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        let mut all = BlobIdentity { bytes: self.end, modified: 0, samples: Vec::new() };
        for (_, file) in &self.files {
            let Some(BlobIdentity { bytes, modified, samples }) = file.bytes.identity()? else {
                return Ok(None);
            };
            all.modified = all.modified.max(modified);
            all.samples.extend(bytes.to_le_bytes());
            all.samples.extend(modified.to_le_bytes());
            all.samples.extend(samples);
        }
        Ok(Some(all))
    }
}
