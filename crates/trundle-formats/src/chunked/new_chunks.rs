//! Arrays that are being written in chunks, as one sequence of bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use super::array::zeros;
use super::boxes::{BoxPosition, copy_box, part_of_chunk};
use super::recent::Recent;
use crate::Blob;
use crate::lock::lock;
use crate::temporary_file::wait_for_end;

/// Stores the chunks of an array, or its shards if it has any.
pub(crate) trait ChunkWriter: Debug + Send + Sync {
    /// Encodes and stores the chunk at `index`. `bytes` has all of its elements, also beyond the edge of the array.
    ///
    /// # Errors
    /// If the chunk cannot be encoded or written.
    fn write_chunk(&self, index: &[usize], bytes: &[u8]) -> io::Result<()>;

    /// Fills `out` from the written chunk at `index`, with the box of `lens` elements from `begin` in the array.
    ///
    /// # Errors
    /// If the chunk cannot be read.
    fn read_chunk(
        &self,
        index: &[usize],
        begin: &[usize],
        lens: &[usize],
        out: &mut [u8],
    ) -> io::Result<()>;
}

/// The decoded chunks of all arrays, one after the other. Each has only the part inside the tensor, see
/// [`ChunkedTensor`](crate::ChunkedTensor).
///
/// A chunk that is written by one call goes directly to its writer. Parts of chunks wait in an unnamed temporary file
/// until the chunk is complete.
#[derive(Debug)]
pub(crate) struct NewChunks<W> {
    arrays: Vec<WrittenArray<W>>,
    parts: Parts,
    recent: Recent,
}

#[derive(Debug)]
pub(crate) struct WrittenArray<W> {
    /// The offset of the first chunk in the sequence.
    pub(crate) begin: u64,
    pub(crate) sizes: Vec<usize>,
    /// The sizes of one write: a shard, or a chunk without shards.
    pub(crate) chunk: Vec<usize>,
    /// The bytes of the fill value, for elements beyond the end of the tensor.
    pub(crate) fill: Vec<u8>,
    pub(crate) writer: W,
}

struct Chunk<'a, W> {
    array: &'a WrittenArray<W>,
    index: Vec<usize>,
    begin: u64,
    bytes: usize,
}

impl<W: ChunkWriter> NewChunks<W> {
    /// Creates the sequence of the arrays, which are in the order of their offsets. Temporary files are in `beside`.
    pub(crate) fn new(arrays: Vec<WrittenArray<W>>, beside: &Path) -> NewChunks<W> {
        let parts = Parts { beside: beside.into(), chunks: Mutex::default() };
        NewChunks { arrays, parts, recent: Recent::default() }
    }

    #[cfg(feature = "hdf5")]
    pub(crate) fn arrays(&self) -> &[WrittenArray<W>] {
        &self.arrays
    }

    /// Returns the array that contains the byte at `offset`.
    pub(crate) fn array(&self, offset: u64) -> &WrittenArray<W> {
        &self.arrays[self.arrays.partition_point(|array| array.begin <= offset) - 1]
    }

    pub(crate) fn expect_readers(&self, readers: usize) {
        self.recent.expect_readers(readers);
    }

    /// Reads up to the end of the chunk that contains the byte at `offset`, which must be in an array.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let chunk = self.array(offset).around(offset);
        self.recent.read(chunk.begin, offset, buffer, || chunk.read())
    }

    /// Writes up to the end of the chunk that contains the byte at `offset`, which must be in an array.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let chunk = self.array(offset).around(offset);
        let left = chunk.bytes - (offset - chunk.begin) as usize;
        let own = &bytes[..bytes.len().min(left)];
        let written = match own.len() == chunk.bytes {
            true => chunk.write(own),
            false => self.parts.add(&chunk, own, offset).and_then(|whole| match whole {
                Some(whole) => chunk.write(&whole),
                None => Ok(()),
            }),
        };
        if written.is_err() {
            wait_for_end();
        }
        written.map(|()| own.len())
    }

    /// Checks that all chunks are complete.
    pub(crate) fn check_complete(&self) -> io::Result<()> {
        match self.parts.chunks().covered.first_key_value() {
            None => Ok(()),
            Some((begin, bytes)) => {
                Err(io::Error::other(format!("the chunk at byte {begin} has {bytes} bytes only")))
            }
        }
    }
}

impl<W> WrittenArray<W> {
    fn around(&self, offset: u64) -> Chunk<'_, W> {
        // `outer` is the number of indices in the chunk along earlier axes, `inner` the number in the tensor along
        // later axes.
        let width = self.fill.len();
        let mut rest = (offset - self.begin) as usize / width.max(1);
        let (mut outer, mut first, mut index) = (1, 0, Vec::with_capacity(self.sizes.len()));
        for (axis, (size, chunk)) in self.sizes.iter().zip(&self.chunk).enumerate() {
            let inner: usize = self.sizes[axis + 1..].iter().product();
            let at = rest / (outer * inner) / chunk;
            let begin = at * chunk;
            rest -= outer * begin * inner;
            first += outer * begin * inner;
            outer *= (*chunk).min(size - begin);
            index.push(at);
        }
        let begin = self.begin + (first * width) as u64;
        Chunk { array: self, index, begin, bytes: outer * width }
    }
}

impl<W: ChunkWriter> Chunk<'_, W> {
    /// Writes the chunk, all of whose elements are in `bytes`.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let WrittenArray { sizes, chunk, fill, writer, .. } = self.array;
        let (_, lens) = part_of_chunk(&self.index, chunk, sizes);
        let mut whole = Cow::from(bytes);
        if lens != *chunk {
            let origin = vec![0; lens.len()];
            let mut padded = zeros(chunk.iter().product::<usize>() * fill.len())?;
            if fill.iter().any(|byte| *byte != 0) {
                padded
                    .chunks_exact_mut(fill.len())
                    .for_each(|element| element.copy_from_slice(fill));
            }
            let (from, to) = (
                BoxPosition { sizes: &lens, at: &origin },
                BoxPosition { sizes: chunk, at: &origin },
            );
            copy_box(&lens, fill.len(), (bytes, from), (&mut padded, to));
            whole = padded.into();
        }
        writer.write_chunk(&self.index, &whole)
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let WrittenArray { sizes, chunk, writer, .. } = self.array;
        let (begin, lens) = part_of_chunk(&self.index, chunk, sizes);
        let mut bytes = zeros(self.bytes)?;
        writer.read_chunk(&self.index, &begin, &lens, &mut bytes)?;
        Ok(bytes)
    }
}

#[derive(Debug)]
struct Parts {
    beside: Box<Path>,
    chunks: Mutex<IncompleteChunks>,
}

#[derive(Debug, Default)]
struct IncompleteChunks {
    /// The temporary file, with each part at its offset in the sequence.
    file: Option<Arc<File>>,
    /// The bytes present of each incomplete chunk, by the offset of the chunk.
    covered: BTreeMap<u64, usize>,
}

impl Parts {
    fn chunks(&self) -> MutexGuard<'_, IncompleteChunks> {
        lock(&self.chunks)
    }

    fn file(&self) -> io::Result<Arc<File>> {
        let mut chunks = self.chunks();
        if let Some(file) = &chunks.file {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(tempfile::tempfile_in(&self.beside)?);
        chunks.file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Adds a part of a chunk, and returns the whole chunk if this was the last part.
    fn add<W>(
        &self,
        chunk: &Chunk<'_, W>,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<Option<Vec<u8>>> {
        let file = self.file()?;
        file.write_all_at(bytes, offset)?;
        {
            // Count after the write, so that the thread that adds the last part finds all others.
            let mut chunks = self.chunks();
            let covered = chunks.covered.entry(chunk.begin).or_default();
            *covered += bytes.len();
            if *covered < chunk.bytes {
                return Ok(None);
            }
            chunks.covered.remove(&chunk.begin);
        }
        let mut whole = zeros(chunk.bytes)?;
        file.read_exact_at(&mut whole, chunk.begin)?;
        release(&file, chunk.begin, chunk.bytes as u64);
        Ok(Some(whole))
    }
}

/// Frees the disk space of a range, if the file system can.
fn release(file: &File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::FallocateFlags;

        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(file, flags, offset, bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, bytes);
}

#[cfg(test)]
mod tests {
    use super::super::boxes::{counts, indices};
    use super::*;

    #[test]
    fn every_byte_is_found_in_its_chunk() {
        for (sizes, chunk) in [
            (&[5, 7, 9][..], &[2, 3, 4][..]),
            (&[6, 4], &[6, 4]),
            (&[10], &[3]),
            (&[3, 5], &[9, 1]),
        ] {
            let (sizes, chunk) = (sizes.to_vec(), chunk.to_vec());
            let array = WrittenArray { begin: 8, sizes, chunk, fill: vec![0; 2], writer: () };
            let mut offset = 8;
            for index in indices(&counts(&array.sizes, &array.chunk)) {
                let (_, lens) = part_of_chunk(&index, &array.chunk, &array.sizes);
                let bytes = 2 * lens.iter().product::<usize>();
                for at in offset..offset + bytes as u64 {
                    let found = array.around(at);
                    assert_eq!((&found.index, found.begin, found.bytes), (&index, offset, bytes));
                }
                offset += bytes as u64;
            }
            assert_eq!(offset, 8 + 2 * array.sizes.iter().product::<usize>() as u64);
        }
    }
}
