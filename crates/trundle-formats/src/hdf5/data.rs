//! Presents the data of a file as one sequence of bytes.

use std::fs::File;
use std::io;
use std::sync::Arc;

use trundle_hdf5::{Chunked, ReadAt};

use super::texts::UnchunkedTexts;
use crate::chunked::{ChunkedArray, Chunks};
use crate::{Blob, BlobIdentity};

#[derive(Debug)]
pub(super) struct Bytes {
    pub(super) blob: Arc<dyn Blob>,
    pub(super) bytes: u64,
}

impl ReadAt for Bytes {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.blob.read_exact_at(buffer, offset)
    }
}

/// Data that is neither contiguous in the file nor in chunks.
#[derive(Debug)]
pub(super) enum Unstored {
    /// Data that is part of the metadata.
    InMemory(Vec<u8>),
    /// The fill value, repeated for this number of bytes.
    Filled(Vec<u8>, u64),
    /// Strings, whose numbers are the data.
    Texts(Box<UnchunkedTexts>),
}

impl Unstored {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Unstored::InMemory(data) => data.len() as u64,
            Unstored::Filled(_, bytes) => *bytes,
            Unstored::Texts(texts) => texts.bytes(),
        }
    }

    /// Fills `buffer` from an offset, up to the end of the data, and returns the number of bytes.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = buffer.len().min(usize::try_from(self.bytes() - offset).unwrap_or(usize::MAX));
        match self {
            Unstored::InMemory(data) => {
                buffer[..count].copy_from_slice(&data[offset as usize..][..count]);
            }
            Unstored::Filled(element, _) => {
                let first = (offset % element.len() as u64) as usize;
                let bytes = element.iter().cycle().skip(first);
                buffer[..count].iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            }
            Unstored::Texts(texts) => return texts.read_at(&mut buffer[..count], offset),
        }
        Ok(count)
    }
}

/// The bytes of the file, followed by the data of `unstored` and then by the decoded chunks.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) file: Arc<dyn Blob>,
    pub(super) bytes: u64,
    /// The other data, each with its offset.
    pub(super) unstored: Vec<(u64, Unstored)>,
    pub(super) chunks_begin: u64,
    pub(super) chunks: Chunks,
}

impl Blob for Data {
    fn bytes(&self) -> io::Result<u64> {
        self.chunks.bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.chunks_begin {
            return self.chunks.read_at(buffer, offset);
        }
        if offset < self.bytes {
            let left = usize::try_from(self.bytes - offset).unwrap_or(usize::MAX);
            let count = buffer.len().min(left);
            return self.file.read_at(&mut buffer[..count], offset);
        }
        let at = self.unstored.partition_point(|(begin, _)| *begin <= offset) - 1;
        let (begin, unstored) = &self.unstored[at];
        unstored.read_at(buffer, offset - begin)
    }

    fn forget(&self, offset: u64, bytes: u64) {
        if offset < self.bytes {
            self.file.forget(offset, bytes);
        }
    }

    fn expect_readers(&self, readers: usize) {
        self.chunks.expect_readers(readers);
    }

    fn file(&self) -> Option<&File> {
        self.file.file()
    }

    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        self.file.identity()
    }
}

impl ChunkedArray for Chunked {
    fn sizes(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> &[u64] {
        &self.chunk
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    fn read_chunk(&self, index: &[u64]) -> io::Result<Vec<u8>> {
        Chunked::read_chunk(self, index).map_err(io::Error::from)
    }
}
