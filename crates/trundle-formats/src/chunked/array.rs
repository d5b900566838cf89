//! Reads arrays whose data is in chunks.

use std::fmt::Debug;
use std::io::{self, Write};
use std::time::SystemTime;

use trundle_core::{Shape, Width};

use super::boxes::{BoxPosition, copy_box, counts, indices, part_of_chunk, row_major, short};
use crate::{EncodedChunk, Header, Problem, Progress, StoredDType};

/// The size of a stored chunk in bytes, the time of its last write and its entity tag.
pub(crate) type StoredChunk = (u64, Option<SystemTime>, Option<String>);

/// An array whose chunks can be decoded one at a time by several threads.
pub(crate) trait ChunkedArray: Debug + Send + Sync {
    fn sizes(&self) -> &[u64];

    /// Returns the sizes of a chunk, each at least 1.
    fn chunk(&self) -> &[u64];

    fn chunk_bytes(&self) -> usize;

    /// Returns the axes of a chunk in storage order, slowest first; `None` if the chunk is row-major.
    fn order(&self) -> Option<&[usize]> {
        None
    }

    /// Returns the elements of the chunk at `index`, in the order of [`ChunkedArray::order`].
    ///
    /// # Errors
    /// If the chunk cannot be read or contradicts the metadata.
    fn read_chunk(&self, index: &[u64]) -> io::Result<Vec<u8>>;

    /// Decodes the chunk at `index` into `out`, which must have the size of the chunk.
    ///
    /// # Errors
    /// The errors of [`ChunkedArray::read_chunk`].
    fn read_chunk_to(&self, index: &[u64], out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.read_chunk(index)?);
        Ok(())
    }

    /// Returns the elements of the chunk in row-major order.
    ///
    /// # Errors
    /// The errors of [`ChunkedArray::read_chunk`].
    fn read_row_major(&self, index: &[u64]) -> io::Result<Vec<u8>> {
        let bytes = self.read_chunk(index)?;
        Ok(match self.order() {
            Some(order) => row_major(&bytes, &short(self.chunk()), order),
            None => bytes,
        })
    }

    /// Returns the encoded chunk at `index`; `None` if it was never written.
    ///
    /// # Errors
    /// If the chunk cannot be opened, or chunks are not stored separately.
    fn encoded_chunk(&self, _index: &[u64]) -> io::Result<Option<EncodedChunk>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the stored chunk at `index`; `None` if it was never written.
    ///
    /// # Errors
    /// If the store cannot be queried, or the chunk is not a regular object.
    fn stored_chunk(&self, _index: &[u64]) -> io::Result<Option<StoredChunk>> {
        Ok(None)
    }

    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the metadata as text. The result is empty if it is not stored separately from the chunks.
    fn metadata(&self) -> String {
        String::new()
    }
}

pub(crate) fn too_large() -> Problem {
    Problem::unsupported("more bytes than a file can have")
}

/// Returns a buffer of zeros, or an error if there is not enough memory.
pub(crate) fn zeros(bytes: usize) -> io::Result<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

pub(crate) fn usable(sizes: &[u64]) -> Result<Vec<usize>, Problem> {
    let sizes = sizes.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<_>>();
    sizes.ok_or_else(too_large)
}

/// Returns the header of an array with this shape, whose elements have the type `dtype` and `width` bytes.
pub(crate) fn header(
    name: String,
    dtype: &str,
    width: usize,
    shape: &[u64],
) -> Result<Header, Problem> {
    let element = StoredDType::named(dtype).map_err(Problem::Unsupported)?;
    if element.width() != Width::Bytes(width) {
        return Err(Problem::unsupported(format!("elements of type {dtype} are not read")));
    }
    Header::row_major(name, element, Shape::new(usable(shape)?)?, None)
}

/// Returns the size of all chunks of an array in bytes; `None` if it overflows.
pub(crate) fn bytes_of_chunks(shape: &Shape, chunk: &[usize], chunk_bytes: usize) -> Option<u64> {
    let counts = shape.iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk) as u64);
    counts.into_iter().try_fold(chunk_bytes as u64, u64::checked_mul)
}

/// The largest slab of [`copy_all`] in bytes.
const MOST_SLAB_BYTES: usize = 1 << 28;

/// Writes all elements of the array of `header` to `out` in row-major order. Reads slabs along the first axis, each
/// within one row of chunks.
///
/// # Errors
/// [`Problem`] if a chunk cannot be read, or `out` returns an error.
pub(crate) fn copy_all(
    array: &dyn ChunkedArray,
    header: &Header,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    let mut sizes = header.shape.to_vec();
    // An array without axes has one element, an array with a size of 0 none.
    let rows = if sizes.contains(&0) { 0 } else { sizes.first().copied().unwrap_or(1) };
    let row_bytes = sizes.iter().skip(1).product::<usize>() * header.element.width().units();
    if row_bytes > MOST_SLAB_BYTES && rows > 0 {
        return Err(Problem::NoMemory { bytes: row_bytes });
    }
    let chunk = array.chunk().first().map_or(1, |size| *size as usize);
    let most = (MOST_SLAB_BYTES / row_bytes.max(1)).max(1);
    let (mut row, mut copied) = (0, 0);
    while row < rows {
        let before = row % chunk;
        let taken = (rows - row).min(chunk - before).min(most);
        let bytes = taken * row_bytes;
        let mut slab = Vec::new();
        slab.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
        slab.resize(bytes, 0);
        let mut first = vec![0; sizes.len()];
        if let (Some(size), Some(first)) = (sizes.first_mut(), first.first_mut()) {
            (*size, *first) = (taken, (row / chunk) as u64);
        }
        read_box(array, (&first, before), &sizes, &mut slab).map_err(Problem::reading)?;
        out.write_all(&slab).map_err(Problem::writing)?;
        (row, copied) = (row + taken, copied + bytes as u64);
        progress(copied);
    }
    Ok(())
}

/// Reads a box of elements with the lengths `lens` into `out`, which must have its size. The box begins `before`
/// elements after the start of the chunk `first`, along the first axis. Unless `before` is 0, the box must be within
/// one row of chunks along that axis.
///
/// # Errors
/// The errors of [`ChunkedArray::read_chunk`].
pub(crate) fn read_box(
    array: &dyn ChunkedArray,
    (first, before): (&[u64], usize),
    lens: &[usize],
    out: &mut [u8],
) -> io::Result<()> {
    let chunk = short(array.chunk());
    let width = array.chunk_bytes() / chunk.iter().product::<usize>();
    let mut within = vec![0; chunk.len()];
    within.iter_mut().take(1).for_each(|first| *first = before);
    for index in indices(&counts(lens, &chunk)) {
        let key: Vec<u64> = index.iter().zip(first).map(|(i, first)| *i as u64 + first).collect();
        let decoded = array.read_row_major(&key)?;
        let (at, part) = part_of_chunk(&index, &chunk, lens);
        let (from, to) =
            (BoxPosition { sizes: &chunk, at: &within }, BoxPosition { sizes: lens, at: &at });
        copy_box(&part, width, (&decoded, from), (&mut *out, to));
    }
    Ok(())
}
