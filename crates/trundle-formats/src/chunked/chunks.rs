//! Presents the chunks of one or more arrays as one sequence of bytes.

use std::io;

use super::array::ChunkedArray;
use super::recent::Recent;
use crate::blob::nanoseconds;
use crate::{Blob, BlobIdentity, EncodedChunk};

/// The number of chunks that a store's identity samples in all, and the least number for each array.
const SAMPLES: (usize, usize) = (1024, 16);

/// The same for stores behind a network, where each sample costs a request.
const REMOTE_SAMPLES: (usize, usize) = (64, 2);

/// The decoded chunks of all arrays, one after the other.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// The arrays, each with the offset at which its chunks begin.
    pub(crate) arrays: Vec<(u64, Box<dyn ChunkedArray>)>,
    end: u64,
    recent: Recent,
}

impl Chunks {
    /// Creates the sequence for arrays that begin at these offsets. The last one ends at `end`.
    pub(crate) fn new(arrays: Vec<(u64, Box<dyn ChunkedArray>)>, end: u64) -> Chunks {
        Chunks { arrays, end, recent: Recent::default() }
    }

    /// Finds the chunk that contains the byte at `offset`. Returns its array, its offset and its index.
    fn find(&self, offset: u64) -> (&dyn ChunkedArray, u64, Vec<u64>) {
        let at = self.arrays.partition_point(|(begin, _)| *begin <= offset) - 1;
        let (begin, array) = &self.arrays[at];
        let number = (offset - begin) / array.chunk_bytes() as u64;
        let (mut rest, mut index) = (number, vec![0; array.sizes().len()]);
        for (axis, at) in index.iter_mut().enumerate().rev() {
            let count = array.sizes()[axis].div_ceil(array.chunk()[axis]);
            (*at, rest) = (rest % count, rest / count);
        }
        (&**array, begin + number * array.chunk_bytes() as u64, index)
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
        // A chunk that is read whole is not cached: no other thread needs a part of it.
        if offset == begin
            && let Some(out) = buffer.get_mut(..array.chunk_bytes())
        {
            array.read_chunk_to(&index, out)?;
            return Ok(out.len());
        }
        self.recent.read(begin, offset, buffer, || array.read_chunk(&index))
    }

    fn encoded_chunk(&self, tensor: u64, index: &[usize]) -> io::Result<Option<EncodedChunk>> {
        let at = self.arrays.partition_point(|(begin, _)| *begin <= tensor) - 1;
        let index: Vec<u64> = index.iter().map(|i| *i as u64).collect();
        self.arrays[at].1.encoded_chunk(&index)
    }

    /// Returns all metadata, and the sizes and modification times of sampled chunks.
    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        let is_remote = self.arrays.first().is_some_and(|(_, array)| array.is_remote());
        let (all, of_array) = if is_remote { REMOTE_SAMPLES } else { SAMPLES };
        let each = (all / self.arrays.len().max(1)).max(of_array);
        let mut identity = BlobIdentity { bytes: 0, modified: 0, samples: Vec::new() };
        for (begin, array) in &self.arrays {
            identity.samples.extend(array.metadata().into_bytes());
            let end = self.arrays.iter().map(|(other, _)| *other).find(|other| other > begin);
            let count = (end.unwrap_or(self.end) - begin) / (array.chunk_bytes() as u64).max(1);
            let taken = count.min(each as u64);
            for number in 0..taken {
                // The samples include the first and the last chunk.
                let spread =
                    u128::from(number) * u128::from(count - 1) / u128::from((taken - 1).max(1));
                let number = u64::try_from(spread).unwrap_or(count - 1);
                let (_, _, index) = self.find(begin + number * array.chunk_bytes() as u64);
                let stored = match array.stored_chunk(&index) {
                    // A read of a local chunk reports the error.
                    Err(_) if !is_remote => None,
                    stored => stored?,
                };
                let Some((bytes, modified, tag)) = stored else {
                    identity.samples.push(0);
                    continue;
                };
                // The size alone does not identify a chunk of a server.
                if is_remote && modified.is_none() && tag.is_none() {
                    return Ok(None);
                }
                let modified = modified.filter(|_| tag.is_none()).map(nanoseconds);
                let modified = modified.unwrap_or_default();
                identity.bytes += bytes;
                identity.modified = identity.modified.max(modified);
                identity.samples.extend(bytes.to_le_bytes());
                identity.samples.extend(modified.to_le_bytes());
                identity.samples.extend(tag.unwrap_or_default().into_bytes());
            }
        }
        Ok(Some(identity))
    }

    fn expect_readers(&self, readers: usize) {
        self.recent.expect_readers(readers);
    }
}
