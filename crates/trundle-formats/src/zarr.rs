//! Zarr stores of versions 2 and 3, which are folders: read through [`trundle_zarr`].
//!
//! An array is a tensor whose data is in chunks, and a group as many tensors as there are arrays in it, by
//! their paths. To whoever reads at some place, the store is one sequence of bytes: the chunks of all
//! arrays, decoded, one after another. A chunk is decoded when the first of its bytes is read, and kept
//! until others are; what has the fill value is such a chunk too.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trundle_core::{Shape, Width};
use trundle_zarr::{Store, ZarrArray};

use crate::format::Contents;
use crate::source::Source;
use crate::{Blob, Format, Header, Order, Problem, Progress, StoredDType, TensorHint, Unreadable};

pub(crate) const FORMAT: Format = Format {
    name: "zarr",
    endings: &["zarr"],
    holds_one: false,
    keeps_metadata: false,
    states_column_major: false,
    begins: |_| false,
    open: |_: Source, _| Err(Problem::Unsupported("a Zarr store is a folder".to_owned())),
    skeleton: None,
};

/// The store in the folder at `path`, if there is a folder and it is to be a store.
///
/// # Errors
/// [`Problem`] if it is none, or nothing of it can be read.
pub(crate) fn open_folder(
    path: &Path,
    format: Option<&'static Format>,
    hint: &TensorHint,
) -> Result<Option<Box<dyn Contents>>, Problem> {
    let is_asked_for = format.is_some_and(|format| format.name == FORMAT.name);
    if !path.is_dir() || (format.is_some() && !is_asked_for) {
        return Ok(None);
    }
    if !Store::is_store(path) {
        let missing = "is a folder without zarr.json, .zarray or .zgroup".to_owned();
        return if is_asked_for { Err(Problem::Malformed(missing)) } else { Ok(None) };
    }
    let store = Store::open(path).map_err(problem)?;
    Ok(Some(Box::new(Arrays::new(path, store, hint)?)))
}

fn problem(error: trundle_zarr::Error) -> Problem {
    match error {
        trundle_zarr::Error::Unsupported(why) | trundle_zarr::Error::TooMany(why) => {
            Problem::Unsupported(why)
        }
        other => Problem::reading(other.into()),
    }
}

/// The arrays of a store.
struct Arrays {
    headers: Vec<Header>,
    unreadable: Vec<Unreadable>,
    chunks: Chunks,
}

impl Arrays {
    fn new(path: &Path, store: Store, hint: &TensorHint) -> Result<Arrays, Problem> {
        // `.` has no name of its own.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let named = if path.file_stem().is_some() { path } else { &whole };
        let own_name = named.file_stem().unwrap_or_default().to_string_lossy();
        let name =
            |path: &str| if path.is_empty() { own_name.to_string() } else { path.to_owned() };
        let mut unreadable: Vec<Unreadable> = store
            .unreadable
            .into_iter()
            .map(|each| Unreadable { name: name(&each.path), problem: problem(each.error) })
            .collect();
        let (mut headers, mut arrays, mut begin) = (Vec::new(), Vec::new(), 0);
        for array in store.arrays {
            let name = name(&array.path);
            match header(&array, name.clone(), begin) {
                Ok((header, end)) => {
                    headers.push(header);
                    arrays.push((begin, array));
                    begin = end;
                }
                Err(problem) => unreadable.push(Unreadable { name, problem }),
            }
        }
        if headers.is_empty() {
            return Err(match unreadable.pop() {
                None => Problem::Unsupported("holds no array".to_owned()),
                Some(Unreadable { name, problem }) => {
                    Problem::Member { member: name, problem: Box::new(problem) }
                }
            });
        }
        let described = hint.apply_to_any(headers.clone())?;
        for (header, stated) in described.iter().zip(&headers) {
            let same =
                header.shape == stated.shape && header.element.width() == stated.element.width();
            if !same {
                return Err(Problem::HintDiffers(format!(
                    "\"{}\" is of shape {} and type {}, and cannot be read as {} {}",
                    stated.name,
                    stated.shape,
                    stated.element.name(),
                    header.shape,
                    header.element.name()
                )));
            }
        }
        let chunks = Chunks { arrays, end: begin, recent: Mutex::default() };
        Ok(Arrays { headers: described, unreadable, chunks })
    }
}

/// What an array says of its tensor, whose chunks begin at byte `begin`, and where they end.
fn header(array: &ZarrArray, name: String, begin: u64) -> Result<(Header, u64), Problem> {
    let too_large = || Problem::Unsupported("more bytes than a file can have".to_owned());
    let element = StoredDType::named(&array.dtype).map_err(Problem::Unsupported)?;
    if element.width() != Width::Bytes(array.width) {
        let dtype = &array.dtype;
        return Err(Problem::Unsupported(format!("elements of type {dtype} are not read")));
    }
    let sizes = |sizes: &[u64]| -> Option<Vec<usize>> {
        sizes.iter().map(|size| usize::try_from(*size).ok()).collect()
    };
    let shape = Shape::new(sizes(&array.shape).ok_or_else(too_large)?)?;
    let data_bytes = shape.bytes(element.width())?;
    let chunk = sizes(&array.chunk).ok_or_else(too_large)?;
    let count = shape.iter().zip(&chunk).map(|(size, chunk)| size.div_ceil(*chunk));
    let end = count
        .map(|count| count as u64)
        .try_fold(array.chunk_bytes as u64, u64::checked_mul)
        .and_then(|bytes| bytes.checked_add(begin))
        .filter(|end| *end <= i64::MAX as u64)
        .ok_or_else(too_large)?;
    let (order, data_offset) = (Order::RowMajor, Some(begin));
    let chunk = Some(chunk);
    Ok((Header { name, element, shape, order, data_offset, data_bytes, chunk }, end))
}

impl Contents for Arrays {
    fn headers(&self) -> &[Header] {
        &self.headers
    }

    fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    fn blob(&self) -> Option<&dyn Blob> {
        Some(&self.chunks)
    }

    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        let bytes = self.headers[index].data_bytes;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
        self.copy_to(index, &mut data, progress)?;
        Ok(data)
    }

    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        let (array, shape) = (&self.chunks.arrays[index].1, &self.headers[index].shape);
        let mut copied = 0;
        for slab in slabs(array, shape)? {
            let bytes = read_slab(array, shape, slab)?;
            out.write_all(&bytes).map_err(Problem::writing)?;
            copied += bytes.len() as u64;
            progress(copied);
        }
        Ok(())
    }
}

/// So many bytes are put together at a time.
const MOST_SLAB_BYTES: usize = 1 << 28;

/// The rows of the first axis that are read together, those of one row of chunks at most.
fn slabs(array: &ZarrArray, shape: &Shape) -> Result<Vec<Range<usize>>, Problem> {
    // Of no axes one element is all there is; of no elements there is nothing to read.
    let rows = if shape.contains(&0) { 0 } else { shape.first().copied().unwrap_or(1) };
    let bytes = shape.iter().skip(1).product::<usize>() * array.width;
    if bytes > MOST_SLAB_BYTES && rows > 0 {
        return Err(Problem::NoMemory { bytes });
    }
    let chunk = array.chunk.first().map_or(1, |size| *size as usize);
    let most = (MOST_SLAB_BYTES / bytes.max(1)).max(1);
    let mut slabs = Vec::new();
    let mut begin = 0;
    while begin < rows {
        let end = rows.min(begin / chunk * chunk + chunk).min(begin + most);
        slabs.push(begin..end);
        begin = end;
    }
    Ok(slabs)
}

/// All elements of some rows of the first axis, which are those of one row of chunks or a part of it.
fn read_slab(array: &ZarrArray, shape: &Shape, rows: Range<usize>) -> Result<Vec<u8>, Problem> {
    let rank = shape.len();
    let before = array.chunk.first().map_or(0, |size| rows.start % *size as usize);
    let mut sizes = shape.to_vec();
    if let Some(first) = sizes.first_mut() {
        *first = rows.len();
    }
    let bytes = sizes.iter().product::<usize>() * array.width;
    let mut slab = Vec::new();
    slab.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
    slab.resize(bytes, 0);
    let chunk: Vec<usize> = array.chunk.iter().map(|size| *size as usize).collect();
    let counts: Vec<usize> = sizes.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    let mut index = vec![0; rank];
    loop {
        let mut key: Vec<u64> = index.iter().map(|i| *i as u64).collect();
        if let Some(first) = key.first_mut() {
            *first = (rows.start / chunk[0]) as u64;
        }
        let decoded = array.read_chunk(&key).map_err(problem)?;
        let row_bytes = chunk.iter().skip(1).product::<usize>() * array.width;
        copy_box(&decoded[before * row_bytes..], &chunk, &index, &mut slab, &sizes, array.width);
        let Some(axis) = (0..rank).rev().find(|axis| index[*axis] + 1 < counts[*axis]) else {
            return Ok(slab);
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

/// Copies what of the chunk at `index` lies in a box of `sizes` to its place there.
fn copy_box(
    decoded: &[u8],
    chunk: &[usize],
    index: &[usize],
    out: &mut [u8],
    sizes: &[usize],
    width: usize,
) {
    let rank = sizes.len();
    let begin: Vec<usize> = index.iter().zip(chunk).map(|(i, c)| i * c).collect();
    let lens: Vec<usize> =
        (0..rank).map(|axis| chunk[axis].min(sizes[axis] - begin[axis])).collect();
    let run = lens.last().copied().unwrap_or(1) * width;
    let outer = &lens[..rank.saturating_sub(1)];
    for row in 0..outer.iter().product() {
        let (mut row, mut from, mut to) = (row, 0, 0);
        let (mut step_from, mut step_to) = (width, width);
        for axis in (0..rank).rev() {
            let at = if axis + 1 == rank { 0 } else { row % lens[axis] };
            if axis + 1 < rank {
                row /= lens[axis];
            }
            from += at * step_from;
            to += (begin[axis] + at) * step_to;
            (step_from, step_to) = (step_from * chunk[axis], step_to * sizes[axis]);
        }
        out[to..to + run].copy_from_slice(&decoded[from..from + run]);
    }
}

/// The decoded chunks of all arrays, one after another.
#[derive(Debug)]
struct Chunks {
    /// The arrays, and the byte at which the chunks of each begin.
    arrays: Vec<(u64, ZarrArray)>,
    /// Where the last one ends.
    end: u64,
    recent: Mutex<Recent>,
}

/// The chunks that were read last.
#[derive(Debug)]
struct Recent {
    chunks: VecDeque<Arc<Decoded>>,
    /// How many are kept.
    most: usize,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { chunks: VecDeque::new(), most: 1 }
    }
}

/// A chunk, which one thread decodes while others wait.
#[derive(Debug)]
struct Decoded {
    begin: u64,
    bytes: OnceLock<Result<Vec<u8>, String>>,
}

impl Chunks {
    /// The array that byte `offset` is one of, where the chunk around it begins, and the chunk's index
    /// along each axis.
    fn find(&self, offset: u64) -> (&ZarrArray, u64, Vec<u64>) {
        let at = self.arrays.partition_point(|(begin, _)| *begin <= offset) - 1;
        let (begin, array) = &self.arrays[at];
        let number = (offset - begin) / array.chunk_bytes as u64;
        let (mut rest, mut index) = (number, vec![0; array.shape.len()]);
        for (axis, at) in index.iter_mut().enumerate().rev() {
            let count = array.shape[axis].div_ceil(array.chunk[axis]);
            (*at, rest) = (rest % count, rest / count);
        }
        (array, begin + number * array.chunk_bytes as u64, index)
    }

    /// The chunk that begins at `begin`: one that was read before, or is about to be.
    fn decoded(&self, begin: u64) -> Arc<Decoded> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = recent.chunks.iter().position(|chunk| chunk.begin == begin)
            && let Some(known) = recent.chunks.remove(at)
        {
            recent.chunks.push_back(Arc::clone(&known));
            return known;
        }
        // The one that was read longest ago makes way.
        while recent.chunks.len() >= recent.most {
            recent.chunks.pop_front();
        }
        let new = Arc::new(Decoded { begin, bytes: OnceLock::new() });
        recent.chunks.push_back(Arc::clone(&new));
        new
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
        let chunk = self.decoded(begin);
        let bytes =
            chunk.bytes.get_or_init(|| array.read_chunk(&index).map_err(|error| error.to_string()));
        let wrong = |why: &String| io::Error::new(io::ErrorKind::InvalidData, why.clone());
        let bytes = bytes.as_ref().map_err(wrong)?;
        let from = &bytes[(offset - begin) as usize..];
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn expect_readers(&self, readers: usize) {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).most = readers.max(1);
    }
}
