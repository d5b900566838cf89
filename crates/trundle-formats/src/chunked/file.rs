//! Files whose data is contiguous or in chunks.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use super::array::copy_all;
use super::chunks::Chunks;
use crate::blob::Sequential;
use crate::contents::{Contents, Listing};
use crate::source::copy;
use crate::{Blob, BlobIdentity, Problem, Progress};

/// The contents of such a file.
pub(crate) struct ChunkedFile {
    pub(crate) listing: Listing,
    /// For each tensor, its index among the chunked ones, if it is chunked.
    pub(crate) chunked: Vec<Option<usize>>,
    pub(crate) data: Data,
}

/// Data that is neither contiguous in the file nor in chunks.
#[derive(Debug)]
#[cfg_attr(not(feature = "hdf5"), allow(dead_code, reason = "only HDF5 has such data"))]
pub(crate) enum Unstored {
    /// Data that is part of the metadata.
    InMemory(Vec<u8>),
    /// The fill value, repeated for this number of bytes.
    Filled(Vec<u8>, u64),
    /// Data that is made of other data in the file, and its number of bytes.
    Converted(Box<dyn Blob>, u64),
}

impl Unstored {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Unstored::InMemory(data) => data.len() as u64,
            Unstored::Filled(_, bytes) | Unstored::Converted(_, bytes) => *bytes,
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
            Unstored::Converted(data, _) => return data.read_at(&mut buffer[..count], offset),
        }
        Ok(count)
    }
}

/// The bytes of the file, followed by the data of `unstored` and then by the decoded chunks.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) file: Arc<dyn Blob>,
    pub(crate) bytes: u64,
    /// The other data, each with its offset.
    pub(crate) unstored: Vec<(u64, Unstored)>,
    pub(crate) chunks_begin: u64,
    pub(crate) chunks: Chunks,
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

impl Contents for ChunkedFile {
    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn blob(&self) -> Option<&dyn Blob> {
        Some(&self.data)
    }

    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        let header = &self.listing.headers[index];
        if let Some(array) = self.chunked[index] {
            return copy_all(&*self.data.chunks.arrays[array].1, header, out, progress);
        }
        let (begin, expected) = (header.data_offset.unwrap_or(0), header.data_bytes as u64);
        let got = copy(&mut Sequential::at(&self.data, begin), expected, out, progress)?;
        if got < expected {
            return Err(Problem::reading(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(())
    }
}
