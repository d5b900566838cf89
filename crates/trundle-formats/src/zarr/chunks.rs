//! The chunks of a store that is read, as one sequence of bytes.

use std::io;

use trundle_zarr::ZarrArray;

use super::recent::Recent;
use crate::Blob;

/// The decoded chunks of all arrays, one after another.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// The arrays, and the byte at which the chunks of each begin.
    pub(super) arrays: Vec<(u64, ZarrArray)>,
    /// Where the last one ends.
    pub(super) end: u64,
    pub(super) recent: Recent,
}

impl Chunks {
    /// The array that byte `offset` is one of, where the chunk around it begins, and the chunk's index
    /// along each axis.
    fn find(&self, offset: u64) -> (&ZarrArray, u64, Vec<u64>) {
        let at = self.arrays.partition_point(|(begin, _)| *begin <= offset) - 1;
        let (begin, array) = &self.arrays[at];
        let number = (offset - begin) / array.chunk_bytes as u64;
        let (mut rest, mut index) = (number, vec![0; array.shape.len()]);
        for (axis, at) in index.iter_mut().enumerate().rev() {
            let count = array.shape[axis].div_ceil(array.chunk[axis]);
            (*at, rest) = (rest % count, rest / count);
        }
        (array, begin + number * array.chunk_bytes as u64, index)
    }
}

impl Blob for Chunks {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.end)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || buffer.is_empty() {
            return Ok(0);
        }
        let (array, begin, index) = self.find(offset);
        self.recent.read(begin, offset, buffer, || array.read_chunk(&index))
    }

    fn expect_readers(&self, readers: usize) {
        self.recent.expect_readers(readers);
    }
}
