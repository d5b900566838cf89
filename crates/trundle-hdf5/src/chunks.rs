//! Reads chunked datasets.

use std::io;
use std::sync::OnceLock;

use hdf5_reader::chunk_index::{ChunkEntry, collect_v2_chunk_entries_storage};
use hdf5_reader::extensible_array::collect_extensible_array_chunk_entries_storage;
use hdf5_reader::fixed_array::collect_fixed_array_chunk_entries_storage;

use crate::chunk_tree;
use crate::error::{Error, guarded};
use crate::filters::{Filter, Filters};
use crate::layout::{Dataspace, Index};
use crate::metadata::Metadata;

/// The largest decoded chunk in bytes, as for other formats. HDF5's own limit is about twice as high.
pub(crate) const MOST_CHUNK_BYTES: u64 = (1 << 31) - 1;

/// A chunked dataset.
#[derive(Debug)]
pub struct Chunked {
    /// The sizes of the axes.
    pub shape: Vec<u64>,
    /// The chunk sizes, each at least 1.
    pub chunk: Vec<u64>,
    /// The size of a decoded chunk in bytes.
    pub chunk_bytes: usize,
    pub(crate) path: String,
    pub(crate) metadata: Metadata,
    pub(crate) space: Dataspace,
    /// The address of the chunk index; `None` if no chunk was ever written.
    pub(crate) address: Option<u64>,
    pub(crate) index: Index,
    pub(crate) edges_are_plain: bool,
    pub(crate) filters: Filters,
    pub(crate) fill: Vec<u8>,
    /// The positions of all chunks, read at the first request.
    pub(crate) table: OnceLock<Result<Vec<Stored>, String>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// The position in the chunk grid in row-major order.
    number: u64,
    address: u64,
    bytes: u64,
    /// A bit for each filter that was skipped.
    mask: u32,
}

impl Chunked {
    /// Returns the estimated picoseconds that one core takes to undo the filters, for each byte.
    pub fn decoding_picoseconds(&self) -> u64 {
        self.filters.picoseconds()
    }

    /// Returns the working memory in bytes to undo the filters of a chunk, without its input and output.
    pub fn decoding_bytes(&self) -> usize {
        self.filters.working_bytes(self.chunk_bytes)
    }

    /// Returns the filters in the order of encoding.
    pub fn filters(&self) -> Vec<Filter> {
        self.filters.list()
    }

    /// Reads and decodes the chunk at the grid position `index`. A chunk that was never written has the fill value.
    ///
    /// # Errors
    /// [`Error`] if the chunk cannot be read, or contradicts the metadata.
    pub fn read_chunk(&self, index: &[u64]) -> Result<Vec<u8>, Error> {
        let Some(stored) = self.find(index)? else {
            return Ok(self.fill.repeat(self.chunk_bytes / self.fill.len().max(1)));
        };
        let wrong = |why: String| {
            let at = index.iter().zip(&self.chunk).map(|(index, size)| index * size).collect();
            Error::Chunk { dataset: self.path.clone(), at, why }
        };
        let is_plain = self.edges_are_plain && self.is_edge(index);
        let most =
            if is_plain { self.chunk_bytes } else { self.filters.most_stored(self.chunk_bytes) };
        let bytes = usize::try_from(stored.bytes).ok().filter(|bytes| *bytes <= most);
        let bytes = bytes.ok_or_else(|| {
            wrong(format!("is stored in {} bytes, expected {most} at most", stored.bytes))
        })?;
        let data = self.metadata.read(stored.address, bytes).map_err(|error| match error {
            Error::Io(error) => Error::Io(error),
            other => wrong(other.to_string()),
        })?;
        let mask = if is_plain { u32::MAX } else { stored.mask };
        let undone = guarded(|| {
            self.filters
                .undo(data, mask, self.fill.len(), self.chunk_bytes)
                .map_err(Error::Malformed)
        });
        undone.map_err(|error| wrong(error.to_string()))
    }

    fn is_edge(&self, index: &[u64]) -> bool {
        let mut axes = index.iter().zip(&self.chunk).zip(&self.shape);
        axes.any(|((index, chunk), size)| (index + 1).saturating_mul(*chunk) > *size)
    }

    fn find(&self, index: &[u64]) -> Result<Option<Stored>, Error> {
        let Some(address) = self.address else { return Ok(None) };
        if self.index == Index::Implicit {
            // All possible chunks follow one another.
            let bytes = self.chunk_bytes as u64;
            let number = number_of(index, &self.space.most, &self.chunk);
            let address = number.and_then(|number| number.checked_mul(bytes)?.checked_add(address));
            let address =
                address.ok_or_else(|| Error::malformed("more chunks than can be counted"))?;
            return Ok(Some(Stored { number: 0, address, bytes, mask: 0 }));
        }
        let table = self.table.get_or_init(|| {
            let table = guarded(|| self.read_table(address));
            table.map_err(|error| format!("\"{}\": its chunks: {error}", self.path))
        });
        let table = table
            .as_ref()
            .map_err(|why| Error::Io(io::Error::new(io::ErrorKind::InvalidData, why.clone())))?;
        let number = number_of(index, &self.shape, &self.chunk);
        let at = table.binary_search_by_key(&number, |stored| Some(stored.number));
        Ok(at.ok().map(|at| table[at]))
    }

    fn read_table(&self, address: u64) -> Result<Vec<Stored>, Error> {
        let axes = self.shape.len();
        let chunk: Result<Vec<u32>, _> =
            self.chunk.iter().map(|size| u32::try_from(*size)).collect();
        let chunk =
            chunk.map_err(|_| Error::unsupported("chunks of 2^32 elements along an axis"))?;
        let (storage, offset_size) = (&self.metadata, self.metadata.offset_size);
        let length_size = self.metadata.length_size;
        // The fixed and the extensible array number chunks by the maximum shape.
        let (shape, most) = (&self.shape, &self.space.most);
        let entries = match self.index {
            Index::BTreeV1 => chunk_tree::entries(storage, address, axes)?,
            Index::Single { stored, mask } => {
                let size = stored.unwrap_or(0);
                vec![ChunkEntry { address, size, filter_mask: mask, offsets: vec![0; axes] }]
            }
            Index::Implicit => Vec::new(),
            Index::FixedArray => collect_fixed_array_chunk_entries_storage(
                storage,
                address,
                offset_size,
                length_size,
                most,
                &chunk,
                None,
            )?,
            Index::ExtensibleArray => collect_extensible_array_chunk_entries_storage(
                storage,
                address,
                offset_size,
                length_size,
                shape,
                Some(most),
                &chunk,
                None,
            )?,
            Index::BTreeV2 => collect_v2_chunk_entries_storage(
                storage,
                address,
                offset_size,
                length_size,
                axes as u32,
                &chunk,
                None,
            )?,
        };
        let mut table = Vec::new();
        table
            .try_reserve_exact(entries.len())
            .map_err(|_| Error::Io(io::ErrorKind::OutOfMemory.into()))?;
        for entry in entries {
            let stored = self.stored(&entry)?;
            table.extend(stored);
        }
        table.sort_unstable_by_key(|stored| stored.number);
        if table.windows(2).any(|pair| pair[0].number == pair[1].number) {
            return Err(Error::malformed("two chunks have the same position"));
        }
        Ok(table)
    }

    /// Converts an index entry; `None` if it is undefined, or outside the shape because the dataset was made smaller.
    fn stored(&self, entry: &ChunkEntry) -> Result<Option<Stored>, Error> {
        let is_on_grid = entry.offsets.len() == self.chunk.len()
            && entry.offsets.iter().zip(&self.chunk).all(|(at, size)| at.is_multiple_of(*size));
        if !is_on_grid {
            return Err(Error::malformed(format!(
                "one begins at {:?}, chunks are {:?}",
                entry.offsets, self.chunk
            )));
        }
        let undefined = u64::MAX >> (64 - 8 * u32::from(self.metadata.offset_size));
        let is_beyond = entry.offsets.iter().zip(&self.shape).any(|(at, size)| at >= size);
        if is_beyond || entry.address == undefined || entry.address == u64::MAX {
            return Ok(None);
        }
        let index: Vec<u64> =
            entry.offsets.iter().zip(&self.chunk).map(|(at, size)| at / size).collect();
        let number = number_of(&index, &self.shape, &self.chunk);
        let number = number.ok_or_else(|| Error::malformed("more chunks than can be counted"))?;
        let bytes = if entry.size == 0 { self.chunk_bytes as u64 } else { entry.size };
        Ok(Some(Stored { number, address: entry.address, bytes, mask: entry.filter_mask }))
    }
}

/// Returns the row-major position of a chunk in a grid; `None` if it overflows.
fn number_of(index: &[u64], sizes: &[u64], chunk: &[u64]) -> Option<u64> {
    let axes = index.iter().zip(sizes).zip(chunk);
    axes.enumerate().try_fold(0u64, |number, (axis, ((index, size), chunk))| {
        // The number of chunks along the first axis does not matter.
        let scaled = if axis == 0 { 0 } else { number.checked_mul(size.div_ceil(*chunk))? };
        scaled.checked_add(*index)
    })
}
