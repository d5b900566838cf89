//! Datasets of strings of variable length, as datasets of the strings' numbers.

use std::io;
use std::sync::Arc;

use trundle_hdf5::{Chunked, HeapStrings, ReadAt};

use crate::Blob;
use crate::chunked::{ChunkedArray, zeros};
use crate::texts::{NUMBER_BYTES, Texts};

/// The strings of a file, which are in its heaps.
#[derive(Clone, Debug)]
pub(super) struct FileTexts {
    pub(super) file: Arc<dyn ReadAt>,
    pub(super) strings: Arc<HeapStrings>,
    pub(super) texts: Arc<Texts>,
}

/// Checks that a string can be stored in HDF5.
///
/// # Errors
/// A message if it contains NUL.
pub(super) fn check_nul(text: &[u8]) -> Result<(), String> {
    if !text.contains(&0) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(text);
    Err(format!("the string {text:?} contains NUL, where strings of HDF5 end"))
}

impl FileTexts {
    /// Returns the numbers of the strings of stored elements.
    pub(super) fn numbers(&self, stored: &[u8]) -> io::Result<Vec<u8>> {
        // All open files share this memory.
        self.strings.cache(self.texts.most_of_chunk() / Arc::strong_count(&self.texts) as u64);
        let mut numbers = Vec::with_capacity(stored.len() / self.strings.width() * NUMBER_BYTES);
        self.strings.read(stored, |text| {
            numbers.extend(self.texts.table().number(text)?.to_le_bytes());
            Ok::<_, io::Error>(())
        })?;
        Ok(numbers)
    }
}

/// Strings that are not in chunks.
#[derive(Debug)]
pub(super) struct UnchunkedTexts {
    pub(super) of: FileTexts,
    pub(super) stored: StoredTexts,
    pub(super) elements: u64,
}

#[derive(Debug)]
pub(super) enum StoredTexts {
    /// In the file, from this byte.
    At(u64),
    InMemory(Vec<u8>),
}

/// The number of elements that are converted at once.
const ELEMENTS_AT_ONCE: u64 = 1 << 16;

/// The bytes of the numbers.
impl Blob for UnchunkedTexts {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.elements * NUMBER_BYTES as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (number, width) = (NUMBER_BYTES as u64, self.of.strings.width());
        let first = offset / number;
        let end = offset.saturating_add(buffer.len() as u64).div_ceil(number);
        let count = (end.min(self.elements) - first).min(ELEMENTS_AT_ONCE) as usize;
        let begin = first * width as u64;
        let numbers = match &self.stored {
            StoredTexts::InMemory(stored) => {
                self.of.numbers(&stored[begin as usize..][..count * width])?
            }
            StoredTexts::At(at) => {
                let mut stored = zeros(count * width)?;
                self.of.file.read_exact_at(&mut stored, at + begin)?;
                self.of.numbers(&stored)?
            }
        };
        let numbers = &numbers[(offset % number) as usize..];
        let read = buffer.len().min(numbers.len());
        buffer[..read].copy_from_slice(&numbers[..read]);
        Ok(read)
    }
}

/// Strings in chunks.
#[derive(Debug)]
pub(super) struct ChunkedTexts {
    pub(super) of: FileTexts,
    pub(super) chunked: Box<Chunked>,
}

impl ChunkedArray for ChunkedTexts {
    fn sizes(&self) -> &[u64] {
        &self.chunked.shape
    }

    fn chunk(&self) -> &[u64] {
        &self.chunked.chunk
    }

    fn chunk_bytes(&self) -> usize {
        self.chunked.chunk_bytes / self.of.strings.width() * NUMBER_BYTES
    }

    fn read_chunk(&self, index: &[u64]) -> io::Result<Vec<u8>> {
        self.of.numbers(&Chunked::read_chunk(&self.chunked, index)?)
    }
}
