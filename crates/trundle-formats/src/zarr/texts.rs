//! Arrays of strings of variable length, as arrays of the strings' numbers.

use std::io;
use std::sync::Arc;

use trundle_core::Shape;
use trundle_zarr::{Object, TextArray};

use super::codecs;
use crate::chunked::{ChunkedArray, StoredChunk, bytes_of_chunks, too_large, usable};
use crate::texts::{NUMBER_BYTES, Texts};
use crate::{Annotations, EncodedChunk, Header, Problem, StoredDType, attributes};

#[derive(Debug)]
pub(super) struct ZarrTexts {
    pub(super) array: TextArray,
    texts: Arc<Texts>,
    /// The number of the fill value.
    fill: u64,
}

impl ZarrTexts {
    pub(super) fn new(array: TextArray) -> io::Result<ZarrTexts> {
        let texts = Texts::shared();
        let fill = texts.table().number(array.fill.as_bytes())?;
        Ok(ZarrTexts { array, texts, fill })
    }

    /// Stores a chunk of strings, given by their numbers, and returns its key and its encoded size in bytes. Readers fill
    /// in a chunk that does not exist, so a chunk of only fill values is stored only if `replaces` returns true.
    pub(super) fn write_chunk(
        &self,
        index: &[u64],
        numbers: &[u8],
        replaces: impl FnOnce() -> io::Result<bool>,
    ) -> io::Result<Option<(String, u64)>> {
        let fill = self.fill.to_le_bytes();
        if numbers.chunks_exact(NUMBER_BYTES).all(|number| *number == fill) && !replaces()? {
            return Ok(None);
        }
        let _held = self.texts.hold(numbers)?;
        // Other threads can use the table while this chunk is encoded and written.
        let joined = self.array.joined(index, &self.texts.table().texts(numbers)?)?;
        Ok(Some(self.array.write_chunk(index, joined)?))
    }

    /// Returns the header of the array, whose chunks begin at byte `begin`, and the offset of their end. `unread`
    /// describes metadata that the output loses.
    pub(super) fn header(
        &self,
        name: String,
        begin: u64,
        unread: Vec<String>,
    ) -> Result<(Header, u64), Problem> {
        let TextArray { array, codecs, attributes, .. } = &self.array;
        let shape = Shape::new(usable(&array.shape)?)?;
        let chunk = usable(&array.chunk)?;
        let end = bytes_of_chunks(&shape, &chunk, self.chunk_bytes())
            .and_then(|bytes| bytes.checked_add(begin))
            .filter(|end| *end <= i64::MAX as u64)
            .ok_or_else(too_large)?;
        let annotations = Annotations {
            dimension_names: array.dimension_names.clone(),
            attributes: attributes::to_text(attributes),
            fill: Some(self.fill.to_le_bytes().to_vec()),
            is_whole: array.path.is_empty(),
            unread,
            ..Annotations::default()
        };
        // Strings do not have a fixed width.
        let encoding = codecs::encoding(codecs, None, None, 1);
        let header = Header {
            chunk: Some(chunk),
            decoding_picoseconds: codecs::decoding_picoseconds(codecs, &encoding),
            encoding: Some(encoding),
            annotations,
            ..Header::row_major(name, StoredDType::of_texts(&array.dtype), shape, Some(begin))?
        };
        Ok((header, end))
    }
}

impl ChunkedArray for ZarrTexts {
    fn sizes(&self) -> &[u64] {
        &self.array.array.shape
    }

    fn chunk(&self) -> &[u64] {
        &self.array.array.chunk
    }

    fn chunk_bytes(&self) -> usize {
        NUMBER_BYTES * self.array.elements()
    }

    fn read_chunk(&self, index: &[u64]) -> io::Result<Vec<u8>> {
        let most = self.texts.most_of_chunk();
        let Some(stored) = self.array.stored(index, most)? else {
            return Ok(self.fill.to_le_bytes().repeat(self.array.elements()));
        };
        let mut numbers = Vec::new();
        // Only one thread at a time decodes strings, so that the strings of only one chunk are in memory.
        let mut table = self.texts.table();
        self.array.decode(index, stored, most, |text| {
            numbers.extend(table.number(text)?.to_le_bytes());
            Ok::<_, io::Error>(())
        })?;
        Ok(numbers)
    }

    fn encoded_chunk(&self, index: &[u64]) -> io::Result<Option<EncodedChunk>> {
        Ok(self.array.array.encoded(index)?.map(|object: Object<'_>| object.into()))
    }

    fn stored_chunk(&self, index: &[u64]) -> io::Result<Option<StoredChunk>> {
        let found = self.array.array.stat(index)?;
        Ok(found.map(|found| (found.bytes, found.modified, found.tag)))
    }

    fn is_remote(&self) -> bool {
        self.array.array.is_remote()
    }

    fn metadata(&self) -> String {
        self.array.array.document.clone()
    }
}
