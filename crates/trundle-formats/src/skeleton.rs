//! The layout of a file without the data of its tensors.
//!
//! A skeleton is complete before any data is read, so threads or processes can write the data in any order. Only the
//! CRC-32 fields of an archive depend on the data; they are filled in at the end.

use std::fs::File;
use std::path::Path;

use trundle_core::Shape;

use crate::names::check_unique;
use crate::{
    Annotations, Blob, ChunkFormat, Codecs, Header, Order, Place, Problem, StoredDType,
    combined_crc32,
};

/// A tensor as a file will describe it, without its data.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The name in the file, which formats without names ignore.
    pub name: &'a str,
    /// The element type.
    pub element: &'a StoredDType,
    /// The sizes of the axes.
    pub shape: &'a Shape,
    /// The order of the contiguous elements in the file.
    pub order: Order,
    /// The sizes of a chunk; `None` for the default: for HDF5 contiguous data, unless there are codecs. Formats without
    /// chunks ignore it.
    pub chunk: Option<&'a [usize]>,
    /// The sizes of a shard; `None` if chunks are not stored in shards. Formats without shards ignore it.
    pub shard: Option<&'a [usize]>,
    /// The axes of a chunk in storage order, slowest first; `None` if chunks are row-major.
    pub chunk_order: Option<&'a [usize]>,
    /// The codecs of the chunks; `None` for the default. Formats without chunks ignore it.
    pub codecs: Option<&'a Codecs>,
    /// Other metadata. Most formats do not store it.
    pub annotations: Option<&'a Annotations>,
    /// The metadata of a tensor that is copied without decoding. It replaces the type, the shape and all other metadata.
    pub undecoded: Option<&'a str>,
    /// The place in an existing store to which the tensor is written.
    pub place: Option<&'a Place>,
}

/// A tensor of a file whose data is in chunks.
///
/// The file is addressed as the decoded chunks one after the other, in row-major order. A chunk at the edge of the
/// tensor has only the part inside the tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkedTensor {
    pub(crate) format: ChunkFormat,
    /// The path of the array in the file; empty if the file is the array.
    pub(crate) path: String,
    pub(crate) sizes: Vec<usize>,
    pub(crate) chunk: Vec<usize>,
    pub(crate) shard: Option<Vec<usize>>,
    pub(crate) order: Option<Vec<usize>>,
    pub(crate) codecs: Codecs,
    /// The format's name of the element type.
    pub(crate) dtype: String,
    pub(crate) width: usize,
    pub(crate) annotations: Annotations,
    /// The metadata of a tensor that is copied without decoding. The other fields then describe one byte for each chunk.
    pub(crate) undecoded: Option<String>,
    /// The file offset of the root of the chunk index, in a file that has one.
    pub(crate) index_offset: u64,
    /// The place in an existing store; `None` in a new file.
    pub(crate) place: Option<Place>,
    /// Whether the file stores the elements contiguously. They are then a single chunk.
    pub(crate) is_contiguous: bool,
    /// Whether elements are strings of variable length.
    pub(crate) holds_texts: bool,
}

trundle_core::fingerprint!(struct ChunkedTensor {
    format,
    path,
    sizes,
    chunk,
    shard,
    order,
    codecs,
    dtype,
    width,
    annotations,
    undecoded,
    index_offset,
    place,
} except { is_contiguous, holds_texts });

impl ChunkedTensor {
    /// Returns the metadata.
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// Returns the sizes of one write: a shard, or a chunk if there are no shards.
    pub fn at_once(&self) -> &[usize] {
        self.shard.as_deref().unwrap_or(&self.chunk)
    }

    /// Returns whether the file stores the elements contiguously.
    pub fn is_contiguous(&self) -> bool {
        self.is_contiguous
    }

    /// Returns the codecs that encode a chunk.
    pub fn codecs(&self) -> &Codecs {
        &self.codecs
    }

    /// Returns the sizes of a chunk, each at least 1.
    pub fn chunk(&self) -> &[usize] {
        &self.chunk
    }

    /// Returns the sizes of a shard; `None` if chunks are not stored in shards.
    pub fn shard(&self) -> Option<&[usize]> {
        self.shard.as_deref()
    }

    /// Returns the place in an existing store; `None` in a new file.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Returns the axes of a chunk in storage order, slowest first; `None` if chunks are row-major.
    pub fn order(&self) -> Option<&[usize]> {
        self.order.as_deref()
    }

    /// Returns whether an encoded chunk of `source` has the same bytes as one of this tensor with the same elements.
    pub fn is_encoded_as(&self, source: &Header) -> bool {
        let fill = source.annotations.fill.as_ref();
        source.encoding.as_ref().is_some_and(|encoding| {
            let codecs = [&encoding.codecs, &self.codecs].map(|own| own.of_elements(self.width));
            let is_same = encoding.format == self.format && codecs[0] == codecs[1];
            encoding.as_written && is_same && fill == Some(&self.fill())
        })
    }

    /// Returns the bytes of the fill value; zeros if the metadata states none.
    pub(crate) fn fill(&self) -> Vec<u8> {
        let fill = self.annotations.fill.clone();
        fill.filter(|fill| fill.len() == self.width).unwrap_or_else(|| vec![0; self.width])
    }

    /// Returns the size of a decoded chunk in bytes.
    pub fn bytes_of_chunk(&self) -> usize {
        chunk_bytes(&self.chunk, self.width)
    }

    /// Returns the size of one write in bytes, before encoding.
    pub fn bytes_at_once(&self) -> usize {
        chunk_bytes(self.at_once(), self.width)
    }
}

impl<'a> Described<'a> {
    /// Creates a description with default chunks and without other metadata.
    pub fn new(
        name: &'a str,
        element: &'a StoredDType,
        shape: &'a Shape,
        order: Order,
    ) -> Described<'a> {
        Described {
            name,
            element,
            shape,
            order,
            chunk: None,
            shard: None,
            chunk_order: None,
            codecs: None,
            annotations: None,
            undecoded: None,
            place: None,
        }
    }

    pub(crate) fn bytes(&self) -> Result<usize, Problem> {
        Ok(self.shape.bytes(self.element.width())?)
    }

    /// Returns whether the data is column-major and not row-major as well. An array that is both counts as row-major,
    /// as in numpy.
    pub(crate) fn is_column_major(&self) -> bool {
        let several = self.shape.iter().filter(|size| **size > 1).count() > 1;
        self.order == Order::ColumnMajor && several && self.shape.elements() > 0
    }

    pub(crate) fn refused(&self, format: &'static str, why: impl Into<String>) -> Problem {
        Problem::CannotHold { format, tensor: self.name.to_owned(), why: why.into() }
    }
}

pub(crate) fn check_names(format: &'static str, tensors: &[Described<'_>]) -> Result<(), Problem> {
    check_unique(tensors.iter().map(|tensor| tensor.name)).map_err(|name| Problem::CannotHold {
        format,
        tensor: name.to_owned(),
        why: "another tensor has the same name".to_owned(),
    })
}

/// Returns whether `tensors` is a single tensor that is the whole file. It then has the file's metadata.
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) fn is_whole(tensors: &[Described<'_>]) -> bool {
    matches!(tensors, [Described { annotations: Some(only), .. }] if only.is_whole)
}

/// Bytes at a fixed offset in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset from the start of the file, in bytes.
    pub offset: u64,
    /// The bytes at this offset.
    pub bytes: Vec<u8>,
}

trundle_core::fingerprint!(struct Span { offset, bytes });

/// A file without the data of its tensors. [`Format::skeleton`](crate::Format::skeleton) creates it.
///
/// Together, the spans and the data cover the file without overlaps or gaps.
#[derive(Clone, Debug, Default)]
pub struct FileSkeleton {
    bytes: u64,
    data_offsets: Vec<u64>,
    data_bytes: Vec<usize>,
    spans: Vec<Span>,
    crc32s: Vec<Crc32Field>,
    /// The tensors in chunks, each with its index.
    chunked: Vec<(usize, ChunkedTensor)>,
    /// The path and the attributes (a JSON object) of each group. The path of the root is empty.
    groups: Vec<(String, String)>,
}

trundle_core::fingerprint!(struct FileSkeleton {
    bytes,
    data_offsets,
    data_bytes,
    spans,
    crc32s,
    chunked,
    groups,
});

/// A little-endian CRC-32 field of 4 bytes, over known bytes and the data of a tensor that follows them.
#[derive(Clone, Copy, Debug)]
struct Crc32Field {
    /// The index of the span, and the offset of the field in it.
    span: usize,
    at: usize,
    tensor: usize,
    before: u32,
}

trundle_core::fingerprint!(struct Crc32Field { span, at, tensor, before });

impl FileSkeleton {
    /// Returns the length of the whole file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the file offset of each tensor's data in bytes, in the order of the tensors.
    pub fn data_offsets(&self) -> &[u64] {
        &self.data_offsets
    }

    /// Returns the size of each tensor's data in bytes.
    pub fn data_bytes(&self) -> &[usize] {
        &self.data_bytes
    }

    /// Returns the tensors whose data is in chunks.
    pub fn chunked(&self) -> impl Iterator<Item = &ChunkedTensor> {
        self.chunked.iter().map(|(_, tensor)| tensor)
    }

    /// Returns the tensor with this index; `None` if its data is not in chunks.
    pub fn chunked_tensor(&self, index: usize) -> Option<&ChunkedTensor> {
        let found = self.chunked.binary_search_by_key(&index, |(index, _)| *index);
        found.ok().map(|at| &self.chunked[at].1)
    }

    /// Returns the tensors whose data is in chunks, each with the offset of its data.
    #[cfg(any(feature = "hdf5", feature = "zarr"))]
    pub(crate) fn chunked_at(&self) -> impl Iterator<Item = (u64, &ChunkedTensor)> {
        self.chunked.iter().map(|(index, tensor)| (self.data_offsets[*index], tensor))
    }

    /// Returns whether the data of a tensor is in chunks, so that the size of the file is not known in advance.
    pub fn has_chunks(&self) -> bool {
        !self.chunked.is_empty()
    }

    /// Returns the size of the file in bytes without the data in chunks.
    pub fn unchunked_bytes(&self) -> u64 {
        self.bytes
            - self.chunked.iter().map(|(index, _)| self.data_bytes[*index] as u64).sum::<u64>()
    }

    /// Returns the new file as a blob, which encodes chunks. Its temporary files are in the folder `beside`.
    ///
    /// # Errors
    /// [`Problem`] if a temporary file cannot be created.
    pub fn blob(&self, file: File, beside: &Path) -> Result<Box<dyn Blob>, Problem> {
        #[cfg(feature = "hdf5")]
        if self.has_chunks() {
            return crate::hdf5::begin(file, self, beside);
        }
        let _ = beside;
        Ok(Box::new(file))
    }

    /// Returns whether the spans contain CRC-32 fields, which need the CRC-32 of each tensor's data.
    pub fn needs_crc32(&self) -> bool {
        !self.crc32s.is_empty()
    }

    /// Returns all bytes outside the data, in ascending order of their offsets.
    ///
    /// `crc32s` contains the [`crc32`] of each tensor's data. It may be empty if they are not
    /// [needed](FileSkeleton::needs_crc32).
    ///
    /// [`crc32`]: crate::crc32
    ///
    /// # Errors
    /// [`Problem::Crc32s`] if the number of `crc32s` is not the number of tensors.
    pub fn spans(&self, crc32s: &[u32]) -> Result<Vec<Span>, Problem> {
        let (expected, got) = (self.data_bytes.len(), crc32s.len());
        if got != expected && (self.needs_crc32() || got != 0) {
            return Err(Problem::Crc32s { expected, got });
        }
        let mut spans = self.spans.clone();
        for crc32 in &self.crc32s {
            let bytes = self.data_bytes[crc32.tensor] as u64;
            let crc = combined_crc32(crc32.before, crc32s[crc32.tensor], bytes);
            spans[crc32.span].bytes[crc32.at..][..4].copy_from_slice(&crc.to_le_bytes());
        }
        Ok(spans)
    }

    pub(crate) fn push(&mut self, bytes: Vec<u8>) -> Result<(), Problem> {
        let offset = self.grow(bytes.len())?;
        self.spans.push(Span { offset, bytes });
        Ok(())
    }

    #[cfg(feature = "zarr")]
    pub(crate) fn groups(&self) -> &[(String, String)] {
        &self.groups
    }

    #[cfg(feature = "zarr")]
    pub(crate) fn set_groups(&mut self, groups: Vec<(String, String)>) {
        self.groups = groups;
    }

    #[cfg(any(feature = "hdf5", feature = "zarr"))]
    pub(crate) fn push_chunked(&mut self, tensor: ChunkedTensor) -> Result<(), Problem> {
        self.push_data(tensor.sizes.iter().product::<usize>() * tensor.width)?;
        self.chunked.push((self.data_offsets.len() - 1, tensor));
        Ok(())
    }

    pub(crate) fn push_data(&mut self, bytes: usize) -> Result<(), Problem> {
        let offset = self.grow(bytes)?;
        self.data_offsets.push(offset);
        self.data_bytes.push(bytes);
        Ok(())
    }

    /// Sorts the tensors, which were pushed in the order `pushed`.
    #[cfg(feature = "hdf5")]
    pub(crate) fn sort_tensors(&mut self, pushed: &[usize]) {
        let mut order: Vec<usize> = (0..pushed.len()).collect();
        order.sort_by_key(|at| pushed[*at]);
        self.data_offsets = order.iter().map(|at| self.data_offsets[*at]).collect();
        self.data_bytes = order.iter().map(|at| self.data_bytes[*at]).collect();
        self.chunked.iter_mut().for_each(|(index, _)| *index = pushed[*index]);
        self.chunked.sort_by_key(|(index, _)| *index);
    }

    /// Marks the 4 bytes at `at` of the next span as the CRC-32 of known bytes, whose own is `before`, and the data of
    /// `tensor`.
    pub(crate) fn expect_crc32(&mut self, at: usize, tensor: usize, before: u32) {
        self.crc32s.push(Crc32Field { span: self.spans.len(), at, tensor, before });
    }

    /// Grows the file by `bytes` bytes, and returns its previous length.
    fn grow(&mut self, bytes: usize) -> Result<u64, Problem> {
        let start = self.bytes;
        let end = start.checked_add(bytes as u64).filter(|end| *end <= i64::MAX as u64);
        self.bytes = end.ok_or_else(|| {
            Problem::Unsupported(format!("the file would have more than {} bytes", i64::MAX))
        })?;
        Ok(start)
    }
}

/// Returns default sizes of a chunk or shard of at most `most` bytes. The longest side is halved until the chunk is
/// small enough, which favours no order of reading.
pub fn chunk_of(sizes: &[usize], width: usize, most: usize) -> Vec<usize> {
    let mut chunk: Vec<usize> = sizes.iter().map(|size| (*size).max(1)).collect();
    let mut cuts = vec![1; chunk.len()];
    while chunk_bytes(&chunk, width) > most
        && let Some(axis) = (0..chunk.len()).max_by_key(|axis| chunk[*axis])
        && chunk[axis] > 1
    {
        cuts[axis] *= 2;
        chunk[axis] = sizes[axis].div_ceil(cuts[axis]);
    }
    chunk
}

/// Returns the size of a chunk in bytes, or `usize::MAX` if it is larger.
pub fn chunk_bytes(chunk: &[usize], width: usize) -> usize {
    chunk.iter().fold(width, |bytes, size| bytes.saturating_mul(*size))
}
