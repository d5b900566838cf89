//! Reads the arrays of a store as tensors.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Number, Value};
use trundle_core::{DType, Shape};
use trundle_json::FILL_VALUE;
use trundle_zarr::{Object, Store, TextArray, UndecodedArray, ZarrArray};

use super::codecs;
use super::texts::ZarrTexts;
use crate::chunked::{
    self, ChunkedArray, Chunks, StoredChunk, bytes_of_chunks, copy_all, too_large, usable,
};
use crate::contents::{Contents, Listing};
use crate::ngff;
use crate::{
    Annotations, Blob, EncodedChunk, Format, Header, Problem, Progress, StoredDType, TensorHint,
    UndecodedTensor, Unreadable, attributes,
};

pub(super) struct Arrays {
    listing: Listing,
    undecoded: Vec<UndecodedTensor>,
    /// The chunks of the arrays of the listing, then the chunks of `stored`.
    chunks: Chunks,
}

impl Arrays {
    pub(super) fn new(path: &Path, store: Store, hint: &TensorHint) -> Result<Arrays, Problem> {
        // The path `.` has no file name.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let named = if path.file_stem().is_some() { path } else { &whole };
        let own_name = named.file_stem().unwrap_or_default().to_string_lossy();
        let name =
            |path: &str| if path.is_empty() { own_name.to_string() } else { path.to_owned() };
        let (mut unreadable, mut sealed) = (Vec::new(), Vec::new());
        for trundle_zarr::Unreadable { path, error, undecoded } in store.unreadable {
            unreadable.push(Unreadable { name: name(&path), problem: error.into() });
            sealed.extend(undecoded);
        }
        let mut attributes = store.attributes;
        let of_pyramid = ngff::axis_names(&attributes);
        let axis_names = |path: &str, own: &[Option<String>], rank: usize| {
            let names = of_pyramid.get(path).filter(|names| own.is_empty() && names.len() == rank);
            names.map_or_else(|| own.to_vec(), Vec::clone)
        };
        let mut arrays: Vec<(u64, Box<dyn ChunkedArray>)> = Vec::new();
        let (mut headers, mut begin) = (Vec::new(), 0);
        for mut array in store.arrays {
            let name = name(&array.path);
            if let Some(mask) = mask_of_version_2(&array)
                && !array.attributes.contains_key(FILL_VALUE)
            {
                array.attributes.insert(FILL_VALUE.to_owned(), mask);
            }
            if array.path.is_empty() {
                // An array at the root has the store's attributes.
                attributes = std::mem::take(&mut array.attributes);
            }
            array.dimension_names =
                axis_names(&array.path, &array.dimension_names, array.shape.len());
            match header(&array, name.clone(), begin) {
                Ok((header, end)) => {
                    headers.push(header);
                    arrays.push((begin, Box::new(array)));
                    begin = end;
                }
                Err(problem) => {
                    sealed.extend(UndecodedArray::of(&array));
                    unreadable.push(Unreadable { name, problem });
                }
            }
        }
        let (mut undecoded, mut names_of_texts) = (Vec::new(), BTreeSet::new());
        let decodes_texts = !hint.copies_texts || headers.is_empty();
        for mut array in sealed {
            array.dimension_names =
                axis_names(&array.path, &array.dimension_names, array.shape.len());
            let texts = TextArray::of(&array).map_err(|error| {
                let own = name(&array.path);
                let of_texts = unreadable.iter_mut().filter(|_| array.dtype == "string");
                if let Some(known) = of_texts.into_iter().find(|known| known.name == own) {
                    known.problem = error.into();
                }
            });
            let holds_texts = texts.is_ok();
            if let (Ok(texts), true) = (texts, decodes_texts) {
                let unread = lost_mask(&array, &name(&array.path));
                let texts = ZarrTexts::new(texts).map_err(Problem::reading)?;
                if let Ok((header, end)) = texts.header(name(&array.path), begin, unread) {
                    names_of_texts.insert(header.name.clone());
                    headers.push(header);
                    arrays.push((begin, Box::new(texts)));
                    begin = end;
                    continue;
                }
            }
            // An array that is too large for one sequence of bytes remains unreadable.
            if let Ok((header, end)) = undecoded_header(&array, name(&array.path), begin) {
                let document = array.document.clone();
                undecoded.push(UndecodedTensor { header, document, holds_texts });
                arrays.push((begin, Box::new(array)));
                begin = end;
            }
        }
        unreadable.retain(|tensor: &Unreadable| !names_of_texts.contains(&tensor.name));
        if headers.is_empty() {
            return Err(match unreadable.pop() {
                None => Problem::unsupported("holds no array"),
                Some(last) => last.into_problem(),
            });
        }
        let described = hint.apply_to_chunked(&headers)?;
        let chunks = Chunks::new(arrays, begin);
        let metadata = attributes::with_groups(attributes::to_metadata(attributes), &store.groups);
        let listing = Listing { headers: described, metadata, unread: Vec::new(), unreadable };
        Ok(Arrays { listing, undecoded, chunks })
    }
}

/// Returns the header of an array whose chunks begin at byte `begin`, and the offset of their end.
fn header(array: &ZarrArray, name: String, begin: u64) -> Result<(Header, u64), Problem> {
    let header = chunked::header(name, &array.dtype, array.width, &array.shape)?;
    let chunk = usable(&array.chunk)?;
    let end = bytes_of_chunks(&header.shape, &chunk, array.chunk_bytes)
        .and_then(|bytes| bytes.checked_add(begin))
        .filter(|end| *end <= i64::MAX as u64)
        .ok_or_else(too_large)?;
    let shard = array.shard.as_deref().map(usable).transpose()?;
    let order = ChunkedArray::order(array).map(<[usize]>::to_vec);
    let mut encoding = codecs::encoding(&array.codecs, shard, order, array.width);
    encoding.as_written &= array.has_usual_index && !array.is_uneven;
    if array.is_uneven {
        let what = "chunks of different sizes";
        encoding.not_kept.push(format!("{what} (replaced by chunks of one size)"));
        encoding.not_written.get_or_insert_with(|| format!("it has {what}"));
    }
    let annotations = Annotations {
        dimension_names: array.dimension_names.clone(),
        attributes: attributes::to_text(&array.attributes),
        fill: Some(array.fill.clone()),
        is_whole: array.path.is_empty(),
        ..Annotations::default()
    };
    let header = Header {
        data_offset: Some(begin),
        chunk: Some(chunk),
        decoding_picoseconds: codecs::decoding_picoseconds(&array.codecs, &encoding),
        encoding: Some(encoding),
        annotations,
        ..header
    };
    Ok((header, end))
}

/// Returns the header of an array that is copied without decoding, with one byte for each chunk, like [`header`].
fn undecoded_header(
    array: &UndecodedArray,
    name: String,
    begin: u64,
) -> Result<(Header, u64), Problem> {
    let element = StoredDType::of_bits(StoredDType::little_endian(DType::U8), &array.dtype);
    let shape = Shape::new(usable(&array.shape)?)?;
    let chunk = usable(&array.chunk)?;
    let end = bytes_of_chunks(&shape, &chunk, 1)
        .and_then(|bytes| bytes.checked_add(begin))
        .filter(|end| *end <= i64::MAX as u64)
        .ok_or_else(too_large)?;
    let annotations = Annotations {
        dimension_names: array.dimension_names.clone(),
        fill: Some(vec![0]),
        unread: lost_mask(array, &name),
        ..Annotations::default()
    };
    let encoding = codecs::encoding(&[], None, None, 1);
    let header = Header {
        chunk: Some(chunk),
        encoding: Some(encoding),
        annotations,
        ..Header::row_major(name, element, shape, Some(begin))?
    };
    Ok((header, end))
}

/// Describes the metadata that an output loses if it does not say that the fill value stands for missing elements.
fn lost_mask(array: &UndecodedArray, name: &str) -> Vec<String> {
    let lost = array.loses_mask.then(|| format!("fill value of {name} as missing elements"));
    lost.into_iter().collect()
}

/// Returns the value of [`FILL_VALUE`] for an array of version 2 that xarray has written, which uses the fill value as
/// the value of missing elements. In other versions, xarray uses the attribute, which stores a float as an f64 in base
/// 64.
fn mask_of_version_2(array: &ZarrArray) -> Option<Value> {
    let element = StoredDType::named(&array.dtype).ok()?;
    let document: Value = serde_json::from_str(array.metadata()).ok()?;
    let is_of_xarray =
        document["zarr_format"] == 2 && document["attributes"]["_ARRAY_DIMENSIONS"].is_array();
    if !is_of_xarray || document["fill_value"].is_null() {
        return None;
    }
    match (element.dtype(), element.integer(&array.fill)) {
        (DType::F16 | DType::F32 | DType::F64, _) => {
            Some(trundle_json::to_base64(element.value(&array.fill)?))
        }
        (_, Some(integer)) => Number::from_i128(integer).map(Value::Number),
        _ => None,
    }
}

impl Contents for Arrays {
    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn format(&self) -> Option<&'static Format> {
        Some(&super::FORMAT)
    }

    fn undecoded(&self) -> &[UndecodedTensor] {
        &self.undecoded
    }

    fn blob(&self) -> Option<&dyn Blob> {
        Some(&self.chunks)
    }

    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        let array = &*self.chunks.arrays[index].1;
        copy_all(array, &self.listing.headers[index], out, progress)
    }
}

impl ChunkedArray for ZarrArray {
    fn sizes(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> &[u64] {
        &self.chunk
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    fn order(&self) -> Option<&[usize]> {
        Some(&self.order[..]).filter(|order| !order.is_sorted())
    }

    fn read_chunk(&self, index: &[u64]) -> io::Result<Vec<u8>> {
        ZarrArray::read_chunk(self, index).map_err(io::Error::from)
    }

    fn read_chunk_to(&self, index: &[u64], out: &mut [u8]) -> io::Result<()> {
        ZarrArray::read_chunk_to(self, index, out).map_err(io::Error::from)
    }

    fn encoded_chunk(&self, index: &[u64]) -> io::Result<Option<EncodedChunk>> {
        Ok(self.encoded(index)?.map(EncodedChunk::from))
    }

    fn stored_chunk(&self, index: &[u64]) -> io::Result<Option<StoredChunk>> {
        let found = self.stat(index)?;
        Ok(found.map(|found| (found.bytes, found.modified, found.tag)))
    }

    fn is_remote(&self) -> bool {
        self.is_remote()
    }

    fn metadata(&self) -> String {
        self.metadata().to_owned()
    }
}

/// The chunks of an array that is copied without decoding.
impl ChunkedArray for UndecodedArray {
    fn sizes(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> &[u64] {
        &self.chunk
    }

    fn chunk_bytes(&self) -> usize {
        1
    }

    fn read_chunk(&self, _: &[u64]) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn encoded_chunk(&self, index: &[u64]) -> io::Result<Option<EncodedChunk>> {
        Ok(self.encoded(index)?.map(EncodedChunk::from))
    }

    fn stored_chunk(&self, index: &[u64]) -> io::Result<Option<StoredChunk>> {
        let found = self.stat(index)?;
        Ok(found.map(|found| (found.bytes, found.modified, found.tag)))
    }

    fn is_remote(&self) -> bool {
        self.is_remote()
    }

    fn metadata(&self) -> String {
        self.document.clone()
    }
}

impl From<Object<'_>> for EncodedChunk {
    fn from(object: Object<'_>) -> EncodedChunk {
        match object {
            Object::File(file) => EncodedChunk::File(file),
            Object::Bytes(bytes) => EncodedChunk::Bytes(bytes.into_owned()),
            Object::Elsewhere(object) => EncodedChunk::Elsewhere(object),
        }
    }
}
