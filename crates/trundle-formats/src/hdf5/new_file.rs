//! A file that is being written, with datasets in chunks.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use trundle_hdf5::{
    ChunkCoder, ELEMENT_BYTES, HeapStrings, NewChunk, ReadAt, encoded_strings, stored_fill,
    superblock, write_chunk_index,
};

use super::CODECS;
use super::codecs::filters;
use super::texts::{FileTexts, check_nul};
use crate::chunked::{
    BoxPosition, ChunkWriter, NewChunks, WrittenArray, copy_box, counts, index_of, zeros,
};
use crate::lock::lock;
use crate::skeleton::chunk_bytes;
use crate::temporary_file::creating;
use crate::texts::Texts;
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
    /// The file offset of the root of the chunk index, or of contiguous data.
    root: u64,
    /// The elements of contiguous strings, which are written at the end; `None` for chunks.
    contiguous: Option<Mutex<Vec<u8>>>,
    /// How strings of variable length are read back; `None` for other elements.
    texts: Option<FileTexts>,
}

/// The bytes of a position: the offset and the size of a chunk. The offset of a chunk that was not stored is 0.
const POSITION_BYTES: u64 = 16;

const POSITIONS_AT_ONCE: u64 = 1 << 12;

const HEAP_ALIGNMENT: u64 = 8;

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
        let width = if tensor.holds_texts { ELEMENT_BYTES } else { tensor.width };
        let filters = filters(tensor.codecs(), width).map_err(Problem::Unsupported)?;
        let coder = ChunkCoder::new(&filters, width, chunk_bytes(&tensor.chunk, width), CODECS)?;
        Ok(Dataset {
            appended: Arc::clone(appended),
            coder,
            first,
            counts: counts(&tensor.sizes, &tensor.chunk),
            chunk: tensor.chunk.clone(),
            fill: stored_fill(&tensor.dtype, tensor.fill())?,
            root: tensor.index_offset,
            contiguous: tensor.is_contiguous.then(Mutex::default),
            texts: tensor.holds_texts.then(|| FileTexts::of_new_file(appended)),
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

    /// Writes the chunk index after all chunks, or the elements of contiguous strings.
    fn write_index(&self) -> io::Result<()> {
        let Appended { file, end, .. } = &*self.appended;
        if let Some(elements) = &self.contiguous {
            return file.write_all_at(&lock(elements), self.root);
        }
        if self.count() == 0 {
            return Ok(());
        }
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
        let width = if self.texts.is_some() { ELEMENT_BYTES } else { self.fill.len() };
        let after = write_chunk_index(chunks, (&chunk, width), ends, &mut write)?;
        end.store(after, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the index of the first element of a chunk, given by its number in the dataset.
    fn begin_of(&self, number: u64) -> Vec<u64> {
        let index = index_of(number as usize, &self.counts);
        index.iter().zip(&self.chunk).map(|(at, chunk)| (at * chunk) as u64).collect()
    }
}

impl Dataset {
    /// Stores the strings of a chunk, given by their numbers, in heaps. Returns the elements that refer to them.
    fn elements(&self, texts: &FileTexts, numbers: &[u8]) -> io::Result<Vec<u8>> {
        let table = texts.texts.table();
        let strings = table.texts(numbers)?;
        let checked = strings.iter().try_for_each(|text| check_nul(text));
        checked.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        let Appended { file, end, .. } = &*self.appended;
        // Without heaps, the file must not end beyond its last byte.
        let place = |bytes: u64| {
            let after =
                |end: u64| (bytes > 0).then(|| end.next_multiple_of(HEAP_ALIGNMENT) + bytes);
            let before = end.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
            before.unwrap_or(0).next_multiple_of(HEAP_ALIGNMENT)
        };
        let (elements, heaps, address) = encoded_strings(&strings, place);
        file.write_all_at(&heaps, address)?;
        Ok(elements)
    }
}

impl FileTexts {
    fn of_new_file(appended: &Arc<Appended>) -> FileTexts {
        let file: Arc<dyn ReadAt> = Arc::clone(appended) as _;
        let strings = Arc::new(HeapStrings::of_new_file(Arc::clone(&file)));
        FileTexts { file, strings, texts: Texts::shared() }
    }
}

impl ReadAt for Appended {
    fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

impl ChunkWriter for Dataset {
    fn write_chunk(&self, index: &[usize], bytes: &[u8]) -> io::Result<()> {
        // Readers fill a chunk that is not stored. The HDF5 library can fill strings only with the empty string.
        if self.contiguous.is_none()
            && (self.texts.is_none() || self.fill.iter().all(|byte| *byte == 0))
            && bytes.chunks_exact(self.fill.len()).all(|element| element == self.fill)
        {
            return Ok(());
        }
        let Appended { file, end, positions } = &*self.appended;
        let elements = match &self.texts {
            Some(texts) => self.elements(texts, bytes)?.into(),
            None => Cow::Borrowed(bytes),
        };
        if let Some(contiguous) = &self.contiguous {
            *lock(contiguous) = elements.into_owned();
            return Ok(());
        }
        let encoded = self.coder.encode(&elements)?;
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
        if let (Some(texts), Some(elements)) = (&self.texts, &self.contiguous) {
            out.copy_from_slice(&texts.numbers(&lock(elements))?);
            return Ok(());
        }
        let number = self.number(index);
        let Some((_, offset, bytes)) = self.stored(number..number + 1)?.next() else {
            out.chunks_exact_mut(self.fill.len()).for_each(|to| to.copy_from_slice(&self.fill));
            return Ok(());
        };
        let mut stored = zeros(bytes as usize)?;
        self.appended.file.read_exact_at(&mut stored, offset)?;
        let decoded = self.coder.decode(stored)?;
        let decoded = match &self.texts {
            Some(texts) => texts.numbers(&decoded)?,
            None => decoded,
        };
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
