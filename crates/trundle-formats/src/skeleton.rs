//! All of a file but the data of its tensors: what stands where.
//!
//! A skeleton is known before any data is, so the data can be written to its places in any order, by
//! anyone; what depends on the data, the CRC-32 of an archive, is filled in at the end.

use trundle_core::Shape;

use crate::{Annotations, Codecs, Header, Order, Problem, StoredDType, combined_crc32};

/// A tensor as a file will describe it; its data comes later.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// Its name in the file, where the format has names.
    pub name: &'a str,
    /// The type of its elements.
    pub element: &'a StoredDType,
    /// The sizes of its axes.
    pub shape: &'a Shape,
    /// The order in which its packed elements will stand.
    pub order: Order,
    /// The sizes of a chunk and of a shard, where the format has them and something is said of them.
    pub chunk: Option<&'a [usize]>,
    /// See `chunk`.
    pub shard: Option<&'a [usize]>,
    /// The axes of a chunk in the order in which its elements will stand there, where that is not row-major.
    pub chunk_order: Option<&'a [usize]>,
    /// The codecs of its chunks, where the format has chunks and something is said of them.
    pub codecs: Option<&'a Codecs>,
    /// What else is said of it, which most formats leave out.
    pub annotations: Option<&'a Annotations>,
}

/// A tensor of a file whose data is in chunks: one after another, in row-major order of the chunks and
/// within each as it is written here, without what of the last ones along an axis lies beyond the tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkedTensor {
    /// Where it is in the file: empty for that of the file itself.
    pub(crate) path: String,
    /// The sizes of its axes.
    pub(crate) sizes: Vec<usize>,
    /// The sizes of a chunk, each 1 at least.
    pub(crate) chunk: Vec<usize>,
    /// The sizes of a shard, if chunks are put into shards.
    pub(crate) shard: Option<Vec<usize>>,
    /// The axes of a chunk in the order in which its elements stand there, where that is not row-major.
    pub(crate) order: Option<Vec<usize>>,
    /// What a chunk goes through when it is written.
    pub(crate) codecs: Codecs,
    /// The type of its elements, as the format calls it.
    pub(crate) dtype: String,
    /// The bytes of an element.
    pub(crate) width: usize,
    /// What else is said of it.
    pub(crate) annotations: Annotations,
}

trundle_core::fingerprint!(struct ChunkedTensor {
    path,
    sizes,
    chunk,
    shard,
    order,
    codecs,
    dtype,
    width,
    annotations,
});

impl ChunkedTensor {
    /// The sizes of what is written at once: a shard, or a chunk where there are none.
    pub fn at_once(&self) -> &[usize] {
        self.shard.as_deref().unwrap_or(&self.chunk)
    }

    /// What a chunk goes through when it is written.
    pub fn codecs(&self) -> &Codecs {
        &self.codecs
    }

    /// The sizes of a chunk, each 1 at least.
    pub fn chunk(&self) -> &[usize] {
        &self.chunk
    }

    /// The sizes of a shard, if chunks are put into shards.
    pub fn shard(&self) -> Option<&[usize]> {
        self.shard.as_deref()
    }

    /// The axes of a chunk in the order in which its elements stand there, the slowest first, where that is not
    /// row-major.
    pub fn order(&self) -> Option<&[usize]> {
        self.order.as_deref()
    }

    /// Whether a chunk of `source` of the same elements would be the same bytes.
    pub fn is_encoded_as(&self, source: &Header) -> bool {
        let fill = source.annotations.fill.as_ref();
        source.encoding.as_ref().is_some_and(|encoding| {
            encoding.as_written && encoding.codecs == self.codecs && fill == Some(&self.fill())
        })
    }

    /// The bytes of the element that stands for all that is not written: 0 if nothing is said of it.
    pub(crate) fn fill(&self) -> Vec<u8> {
        let stated = self.annotations.fill.clone();
        stated.filter(|fill| fill.len() == self.width).unwrap_or_else(|| vec![0; self.width])
    }

    /// The bytes of a chunk.
    pub fn bytes_of_chunk(&self) -> usize {
        self.chunk.iter().fold(self.width, |bytes, size| bytes.saturating_mul(*size))
    }

    /// The bytes of what is written at once.
    pub fn bytes_at_once(&self) -> usize {
        self.at_once().iter().fold(self.width, |bytes, size| bytes.saturating_mul(*size))
    }
}

impl<'a> Described<'a> {
    /// A tensor in chunks of which nothing is said, if the format has chunks.
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
        }
    }

    /// The bytes that its data fills.
    pub(crate) fn bytes(&self) -> Result<usize, Problem> {
        Ok(self.shape.bytes(self.element.width())?)
    }

    /// Whether its data is that of a column-major tensor and of no row-major one. Numpy calls an
    /// array row-major where it is both.
    pub(crate) fn is_column_major(&self) -> bool {
        let several = self.shape.iter().filter(|size| **size > 1).count() > 1;
        self.order == Order::ColumnMajor && several && self.shape.elements() > 0
    }

    /// That a file of `format` cannot hold this tensor.
    pub(crate) fn refused(&self, format: &'static str, why: impl Into<String>) -> Problem {
        Problem::CannotHold { format, tensor: self.name.to_owned(), why: why.into() }
    }
}

/// Whether the tensors are one that is all of its file: the file's metadata is the tensor's then.
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) fn is_whole(tensors: &[Described<'_>]) -> bool {
    matches!(tensors, [Described { annotations: Some(only), .. }] if only.is_whole)
}

/// Bytes of a file, and where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// What stands there.
    pub bytes: Vec<u8>,
}

trundle_core::fingerprint!(struct Span { offset, bytes });

/// A file without the data of its tensors, as [`Format::skeleton`](crate::Format::skeleton) makes it.
/// Its spans and the data cover the file: nothing overlaps and nothing is left out.
#[derive(Clone, Debug, Default)]
pub struct FileSkeleton {
    bytes: u64,
    data_offsets: Vec<u64>,
    data_bytes: Vec<usize>,
    spans: Vec<Span>,
    crc32s: Vec<Crc32Field>,
    chunked: Vec<ChunkedTensor>,
    /// What is said of each group by its path, that of the file itself empty: an object in JSON.
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

/// A place for a CRC-32, 4 bytes with the least significant one first: that of known bytes and a
/// tensor's data behind them.
#[derive(Clone, Copy, Debug)]
struct Crc32Field {
    /// The index of the span, and bytes from its start.
    span: usize,
    at: usize,
    /// The index of the tensor.
    tensor: usize,
    /// The CRC-32 of the bytes before the data.
    before: u32,
}

trundle_core::fingerprint!(struct Crc32Field { span, at, tensor, before });

impl FileSkeleton {
    /// The length of the whole file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where each tensor's data begins, in bytes from the start of the file; in the order in which
    /// the tensors were given, which is also that of the file.
    pub fn data_offsets(&self) -> &[u64] {
        &self.data_offsets
    }

    /// The bytes that each tensor's data fills.
    pub fn data_bytes(&self) -> &[usize] {
        &self.data_bytes
    }

    /// The tensors, where their data is in chunks; none where each is one box.
    pub fn chunked(&self) -> &[ChunkedTensor] {
        &self.chunked
    }

    /// Whether the spans depend on the data: then they need the CRC-32 of each tensor's data.
    pub fn needs_crc32(&self) -> bool {
        !self.crc32s.is_empty()
    }

    /// What stands beside the data, by rising place. `crc32s` has the [`crc32`] of each
    /// tensor's data, or is empty if none are [needed](FileSkeleton::needs_crc32).
    ///
    /// [`crc32`]: crate::crc32
    ///
    /// # Errors
    /// [`Problem::Crc32s`] if `crc32s` are needed and not as many as the tensors.
    pub fn spans(&self, crc32s: &[u32]) -> Result<Vec<Span>, Problem> {
        let (expected, got) = (self.data_bytes.len(), crc32s.len());
        if got != expected && (self.needs_crc32() || got != 0) {
            return Err(Problem::Crc32s { expected, got });
        }
        let mut spans = self.spans.clone();
        for place in &self.crc32s {
            let bytes = self.data_bytes[place.tensor] as u64;
            let crc = combined_crc32(place.before, crc32s[place.tensor], bytes);
            spans[place.span].bytes[place.at..][..4].copy_from_slice(&crc.to_le_bytes());
        }
        Ok(spans)
    }

    /// Appends `bytes` to the file.
    pub(crate) fn push(&mut self, bytes: Vec<u8>) -> Result<(), Problem> {
        let offset = self.grow(bytes.len())?;
        self.spans.push(Span { offset, bytes });
        Ok(())
    }

    /// What is said of each group by its path, that of the file as a whole empty: an object in JSON, or
    /// nothing.
    #[cfg(feature = "zarr")]
    pub(crate) fn groups(&self) -> &[(String, String)] {
        &self.groups
    }

    /// Says something of groups.
    #[cfg(feature = "zarr")]
    pub(crate) fn set_groups(&mut self, groups: Vec<(String, String)>) {
        self.groups = groups;
    }

    /// Appends the data of the next tensor to the file, which is in chunks.
    #[cfg(feature = "zarr")]
    pub(crate) fn push_chunked(&mut self, tensor: ChunkedTensor) -> Result<(), Problem> {
        self.push_data(tensor.sizes.iter().product::<usize>() * tensor.width)?;
        self.chunked.push(tensor);
        Ok(())
    }

    /// Appends the data of the next tensor to the file.
    pub(crate) fn push_data(&mut self, bytes: usize) -> Result<(), Problem> {
        let offset = self.grow(bytes)?;
        self.data_offsets.push(offset);
        self.data_bytes.push(bytes);
        Ok(())
    }

    /// Makes 4 bytes at `at` of the span that comes next a place for the CRC-32 of bytes whose
    /// own is `before` and the data of the tensor at index `tensor`.
    pub(crate) fn expect_crc32(&mut self, at: usize, tensor: usize, before: u32) {
        self.crc32s.push(Crc32Field { span: self.spans.len(), at, tensor, before });
    }

    /// Where the file ended before so many bytes were appended.
    fn grow(&mut self, bytes: usize) -> Result<u64, Problem> {
        let start = self.bytes;
        let end = start.checked_add(bytes as u64).filter(|end| *end <= i64::MAX as u64);
        self.bytes = end.ok_or_else(|| {
            Problem::Unsupported(format!("the file would have more than {} bytes", i64::MAX))
        })?;
        Ok(start)
    }
}
