//! The arrays of a store that is read, as tensors.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use trundle_core::{Shape, Width};
use trundle_zarr::{Store, ZarrArray};

use super::attributes;
use super::boxes::{Place, copy_box, counts, indices, part_of_chunk, short};
use super::chunks::Chunks;
use super::codecs;
use super::problem;
use super::recent::Recent;
use crate::format::Contents;
use crate::ngff;
use crate::{
    Annotations, Blob, Header, Order, Problem, Progress, StoredDType, TensorHint, Unreadable,
};

/// The arrays of a store.
pub(super) struct Arrays {
    headers: Vec<Header>,
    /// What is said of the store as a whole.
    metadata: Vec<(String, String)>,
    unreadable: Vec<Unreadable>,
    chunks: Chunks,
}

impl Arrays {
    pub(super) fn new(path: &Path, store: Store, hint: &TensorHint) -> Result<Arrays, Problem> {
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
        let mut attributes = store.attributes;
        let mut axis_names = ngff::axis_names(&attributes);
        let (mut headers, mut arrays, mut begin) = (Vec::new(), Vec::new(), 0);
        for mut array in store.arrays {
            let name = name(&array.path);
            if array.path.is_empty() {
                // The only one: what is said of it is said of the store.
                attributes = std::mem::take(&mut array.attributes);
            }
            let of_pyramid = axis_names.remove(&array.path).unwrap_or_default();
            if array.dimension_names.is_empty() && of_pyramid.len() == array.shape.len() {
                array.dimension_names = of_pyramid;
            }
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
        let chunks = Chunks { arrays, end: begin, recent: Recent::default() };
        let mut metadata = attributes::to_metadata(attributes);
        // Of a group within, under its path with a slash behind.
        let of_groups = store.groups.iter();
        metadata
            .extend(of_groups.map(|(path, own)| (format!("{path}/"), attributes::to_text(own))));
        Ok(Arrays { headers: described, metadata, unreadable, chunks })
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
    let shard = array.shard.as_deref().map(sizes).map(|sizes| sizes.ok_or_else(too_large));
    let mut encoding = codecs::encoding(&array.codecs, shard.transpose()?, array.width);
    encoding.as_written &= array.has_usual_index;
    let encoding = Some(encoding);
    let annotations = Annotations {
        dimension_names: array.dimension_names.clone(),
        attributes: attributes::to_text(&array.attributes),
        fill: Some(array.fill.clone()),
    };
    let header = Header {
        name,
        element,
        shape,
        order,
        data_offset,
        data_bytes,
        chunk,
        encoding,
        annotations,
    };
    Ok((header, end))
}

impl Contents for Arrays {
    fn headers(&self) -> &[Header] {
        &self.headers
    }

    fn metadata(&self) -> &[(String, String)] {
        &self.metadata
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
    let before = array.chunk.first().map_or(0, |size| rows.start % *size as usize);
    let mut sizes = shape.to_vec();
    if let Some(first) = sizes.first_mut() {
        *first = rows.len();
    }
    let bytes = sizes.iter().product::<usize>() * array.width;
    let mut slab = Vec::new();
    slab.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
    slab.resize(bytes, 0);
    let chunk = short(&array.chunk);
    for index in indices(&counts(&sizes, &chunk)) {
        let mut key: Vec<u64> = index.iter().map(|i| *i as u64).collect();
        if let Some(first) = key.first_mut() {
            *first = (rows.start / chunk[0]) as u64;
        }
        let decoded = array.read_chunk(&key).map_err(problem)?;
        let (begin, lens) = part_of_chunk(&index, &chunk, &sizes);
        let mut within = vec![0; chunk.len()];
        within.iter_mut().take(1).for_each(|first| *first = before);
        let (from, to) =
            (Place { sizes: &chunk, at: &within }, Place { sizes: &sizes, at: &begin });
        copy_box(&lens, array.width, (&decoded, from), (&mut slab, to));
    }
    Ok(slab)
}
