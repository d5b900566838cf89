//! Adapts the file and the chunks of its datasets for [`trundle_hdf5`].

use std::io;
use std::sync::Arc;

use trundle_hdf5::{Chunked, ReadAt};

use crate::Blob;
use crate::chunked::ChunkedArray;

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
