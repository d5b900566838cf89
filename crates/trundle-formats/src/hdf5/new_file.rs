//! A file that is being written, with datasets in chunks.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trundle_hdf5::{ChunkCoder, NewChunk, stored_fill, superblock, write_chunk_index};

use super::codecs::filters;
use crate::chunked::{
    BoxPosition, ChunkWriter, NewChunks, WrittenArray, copy_box, counts, index_of, zeros,
};
use crate::temporary_file::creating;
use crate::{Blob, ChunkedTensor, FileSkeleton, Problem};

/// The bytes of the file before all chunks, followed by the decoded chunks.
///
/// Encoded chunks are appended to the file when they are complete. Their positions are stored in an unnamed temporary
/// file. [`Blob::finish`] reads it and writes the chunk indices.
#[derive(Debug)]
struct NewFile {
    appended: Arc<Appended>,
    /// The offset of the first decoded chunk.
    chunks_begin: u64,
    end: u64,
    chunks: NewChunks<Dataset>,
}

/// The file, its end, and the positions of its chunks.
#[derive(Debug)]
struct Appended {
    file: File,
    end: AtomicU64,
    positions: File,
}

#[derive(Debug)]
struct Dataset {
    appended: Arc<Appended>,
    coder: ChunkCoder,
    /// The number of the first chunk. Chunks are counted over all datasets.
    first: u64,
    /// The number of chunks along each axis.
    counts: Vec<usize>,
    chunk: Vec<usize>,
    /// The fill value in the file's byte order.
    fill: Vec<u8>,
    /// The file offset of the root of the chunk index.
    root: u64,
}

/// The bytes of a position: the offset and the size of a chunk. The offset of a chunk that was not stored is 0.
const POSITION_BYTES: u64 = 16;

const POSITIONS_AT_ONCE: u64 = 1 << 12;

pub(crate) fn begin(
    file: File,
    skeleton: &FileSkeleton,
    beside: &Path,
) -> Result<Box<dyn Blob>, Problem> {
    let chunks_begin = skeleton.unchunked_bytes();
    let positions = tempfile::tempfile_in(beside).map_err(creating)?;
    let appended = Arc::new(Appended { file, end: AtomicU64::new(chunks_begin), positions });
    let (mut arrays, mut first) = (Vec::new(), 0);
    for (begin, tensor) in skeleton.chunked_at() {
        let dataset = Dataset::new(&appended, tensor, first)?;
        first += dataset.count();
        arrays.push(WrittenArray {
            begin,
            sizes: tensor.sizes.clone(),
            chunk: tensor.chunk.clone(),
            fill: dataset.fill.clone(),
            writer: dataset,
        });
    }
    appended.positions.set_len(first * POSITION_BYTES).map_err(creating)?;
    let chunks = NewChunks::new(arrays, beside);
    Ok(Box::new(NewFile { appended, chunks_begin, end: skeleton.bytes(), chunks }))
}

impl Dataset {
    fn new(
        appended: &Arc<Appended>,
        tensor: &ChunkedTensor,
        first: u64,
    ) -> Result<Dataset, Problem> {
        let filters = filters(tensor.codecs(), tensor.width).map_err(Problem::Unsupported)?;
        let coder = ChunkCoder::new(&filters, tensor.width, tensor.bytes_of_chunk())?;
        Ok(Dataset {
            appended: Arc::clone(appended),
            coder,
            first,
            counts: counts(&tensor.sizes, &tensor.chunk),
            chunk: tensor.chunk.clone(),
            fill: stored_fill(&tensor.dtype, tensor.fill())?,
            root: tensor.index_offset,
        })
    }

    fn count(&self) -> u64 {
        self.counts.iter().map(|count| *count as u64).product()
    }

    /// Returns the number in the dataset of the chunk at `index`.
    fn number(&self, index: &[usize]) -> u64 {
        let axes = index.iter().zip(&self.counts);
        axes.fold(0, |number, (index, count)| number * *count as u64 + *index as u64)
    }

    /// Returns the offset of the position of a chunk, given by its number in the dataset.
    fn position(&self, number: u64) -> u64 {
        (self.first + number) * POSITION_BYTES
    }

    /// Returns the offset and the size of each chunk that was stored, with its number in the dataset.
    fn stored(&self, numbers: Range<u64>) -> io::Result<impl Iterator<Item = (u64, u64, u32)>> {
        let mut bytes = vec![0; ((numbers.end - numbers.start) * POSITION_BYTES) as usize];
        self.appended.positions.read_exact_at(&mut bytes, self.position(numbers.start))?;
        let each = numbers.enumerate().map(move |(at, number)| {
            let [offset, bytes] = [2 * at, 2 * at + 1].map(|at| bytes.as_chunks().0[at]);
            (number, u64::from_le_bytes(offset), u64::from_le_bytes(bytes) as u32)
        });
        Ok(each.filter(|(_, offset, _)| *offset > 0))
    }

    /// Writes the chunk index after all chunks.
    fn write_index(&self) -> io::Result<()> {
        if self.count() == 0 {
            return Ok(());
        }
        let Appended { file, end, .. } = &*self.appended;
        let chunk = |(number, offset, bytes)| NewChunk { at: self.begin_of(number), bytes, offset };
        let blocks = (0..self.count()).step_by(POSITIONS_AT_ONCE as usize);
        let chunks = blocks.flat_map(|first| {
            let numbers = first..self.count().min(first + POSITIONS_AT_ONCE);
            let (stored, failed) = match self.stored(numbers) {
                Ok(stored) => (Some(stored), None),
                Err(error) => (None, Some(Err(error))),
            };
            stored.into_iter().flatten().map(move |stored| Ok(chunk(stored))).chain(failed)
        });
        let chunk: Vec<u64> = self.chunk.iter().map(|size| *size as u64).collect();
        let ends = (self.root, end.load(Ordering::Relaxed));
        let mut write = |bytes: &[u8], offset: u64| file.write_all_at(bytes, offset);
        let after = write_chunk_index(chunks, (&chunk, self.fill.len()), ends, &mut write)?;
        end.store(after, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the index of the first element of a chunk, given by its number in the dataset.
    fn begin_of(&self, number: u64) -> Vec<u64> {
        let index = index_of(number as usize, &self.counts);
        index.iter().zip(&self.chunk).map(|(at, chunk)| (at * chunk) as u64).collect()
    }
}

impl ChunkWriter for Dataset {
    fn write_chunk(&self, index: &[usize], bytes: &[u8]) -> io::Result<()> {
        // Readers fill a chunk that is not stored.
        if bytes.chunks_exact(self.fill.len()).all(|element| element == self.fill) {
            return Ok(());
        }
        let Appended { file, end, positions } = &*self.appended;
        let encoded = self.coder.encode(bytes)?;
        let offset = end.fetch_add(encoded.len() as u64, Ordering::Relaxed);
        file.write_all_at(&encoded, offset)?;
        let position = [offset, encoded.len() as u64].map(u64::to_le_bytes).concat();
        positions.write_all_at(&position, self.position(self.number(index)))
    }

    fn read_chunk(
        &self,
        index: &[usize],
        _begin: &[usize],
        lens: &[usize],
        out: &mut [u8],
    ) -> io::Result<()> {
        let number = self.number(index);
        let Some((_, offset, bytes)) = self.stored(number..number + 1)?.next() else {
            out.chunks_exact_mut(self.fill.len()).for_each(|to| to.copy_from_slice(&self.fill));
            return Ok(());
        };
        let mut stored = zeros(bytes as usize)?;
        self.appended.file.read_exact_at(&mut stored, offset)?;
        let decoded = self.coder.decode(stored)?;
        let origin = vec![0; lens.len()];
        let from = BoxPosition { sizes: &self.chunk, at: &origin };
        let to = BoxPosition { sizes: lens, at: &origin };
        copy_box(lens, self.fill.len(), (&decoded, from), (out, to));
        Ok(())
    }
}

impl Blob for NewFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.end)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || buffer.is_empty() {
            return Ok(0);
        }
        if offset >= self.chunks_begin {
            return self.chunks.read_at(buffer, offset);
        }
        let count = buffer.len().min((self.chunks_begin - offset) as usize);
        self.appended.file.read_at(&mut buffer[..count], offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || bytes.is_empty() {
            return Ok(0);
        }
        if offset >= self.chunks_begin {
            return self.chunks.write_at(bytes, offset);
        }
        let count = bytes.len().min((self.chunks_begin - offset) as usize);
        self.appended.file.write_at(&bytes[..count], offset)
    }

    /// Reserves the space before the chunks, whose encoded sizes are not known.
    fn resize(&self, _: u64) -> io::Result<()> {
        self.appended.file.resize(self.chunks_begin)
    }

    fn sync(&self) -> io::Result<()> {
        self.chunks.check_complete()?;
        self.appended.file.sync()
    }

    fn finish(&self) -> io::Result<()> {
        self.chunks.arrays().iter().try_for_each(|array| array.writer.write_index())?;
        let Appended { file, end, .. } = &*self.appended;
        file.write_all_at(&superblock(end.load(Ordering::Relaxed)), 0)
    }

    fn takes_whole(&self) -> bool {
        true
    }

    fn expect_readers(&self, readers: usize) {
        self.chunks.expect_readers(readers);
    }
}
