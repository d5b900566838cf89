//! Reads a Zarr array.

use std::io;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayShardedExt, ArraySubset, ArrayToBytesCodecTraits,
    BytesRepresentation, CodecOptions,
};
use zarrs::metadata::v3::{ArrayMetadataV3, MetadataV3};
use zarrs::storage::StoreKey;

use crate::bounded;
use crate::cores::on_a_core;
use crate::error::Error;
use crate::filters::Filters;
use crate::metadata::{self, Attributes, MOST_METADATA_BYTES, ReadMetadata};
use crate::object_store::{ByteRange, Object, ObjectStore, Stat};
use crate::opaque::Opaque;
use crate::reader::Reader;
use crate::shards::Shards;
use crate::times;
use crate::uneven::largest_chunk;

/// The largest decoded chunk in bytes: the limit of Blosc.
const MOST_CHUNK_BYTES: u64 = (1 << 31) - 1;

/// The most chunks in a shard. The index takes 16 bytes of memory for each chunk.
const MOST_CHUNKS_OF_SHARD: u64 = 1 << 18;

/// The most bytes that codecs add to a chunk that does not compress, including its checksum.
const MOST_ADDED_BYTES: u64 = 64 << 10;

pub(crate) const MOST_AXES: usize = 32;

type Inner = Array<Reader>;

/// A Zarr array: its metadata, and access to its chunks. In a sharded array, `chunk` is a chunk within a shard.
#[derive(Debug)]
pub struct ZarrArray {
    /// The path below the root, without a leading or trailing slash; empty for the root itself.
    pub path: String,
    /// The size of each axis in elements.
    pub shape: Vec<u64>,
    /// The chunk sizes in elements, each at least 1.
    pub chunk: Vec<u64>,
    /// Whether stored chunks have different sizes. `chunk` is then the largest size along each axis, and the chunks that
    /// are read are not the stored ones.
    pub is_uneven: bool,
    /// The shard sizes in elements, if the array is sharded.
    pub shard: Option<Vec<u64>>,
    /// Whether shard indices have the position and the codecs that [`ArrayWriter`](crate::ArrayWriter) uses.
    pub has_usual_index: bool,
    /// The order of the axes in a stored chunk, slowest first. The leading transpose codecs determine it.
    pub order: Vec<usize>,
    /// The codecs of a chunk after the leading transposes, as metadata of version 3, also for an array of version 2. The
    /// filters that zarrs lacks come first.
    pub codecs: Vec<Value>,
    /// The element type: a name of Zarr version 3, such as `float32`, or of numpy, such as `<U4`, `|S5` and `<M8[ns]`.
    /// Structures have a JSON list of fields as in a `.zarray`, such as `[["a","<i4"],["b","<f8",[2]]]`.
    /// Decoded elements are always little-endian.
    pub dtype: String,
    /// The size of an element in bytes.
    pub width: usize,
    /// The size of a decoded chunk in bytes.
    pub chunk_bytes: usize,
    /// The axis names; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// The attributes, without axis names.
    pub attributes: Attributes,
    /// The bytes of the fill value, which is one element.
    pub fill: Vec<u8>,
    metadata: String,
    opaque: Option<Opaque>,
    filters: Filters,
    in_place: Option<InPlace>,
    array: Inner,
    shards: Option<Shards>,
}

impl ZarrArray {
    /// Reads the metadata of the array at `path` in a store.
    ///
    /// # Errors
    /// [`Error`] if the metadata cannot be read, is malformed, or is not supported.
    pub(crate) fn open(objects: &Arc<dyn ObjectStore>, path: &str) -> Result<ZarrArray, Error> {
        bounded::register();
        let found = metadata::of_array(&**objects, path)?;
        ZarrArray::new(objects, path, found)
    }

    /// Returns the array at a path of the store `described` as if it had the shape `shape`, with its chunks in `objects`.
    ///
    /// # Errors
    /// [`Error`] if the metadata cannot be read, is malformed, or is not supported.
    pub fn reshaped(
        described: &dyn ObjectStore,
        path: &str,
        shape: &[u64],
        objects: &Arc<dyn ObjectStore>,
    ) -> Result<ZarrArray, Error> {
        bounded::register();
        let mut found = metadata::of_array(described, path)?;
        found.metadata.shape = shape.into();
        ZarrArray::new(objects, path, found)
    }

    fn new(
        objects: &Arc<dyn ObjectStore>,
        path: &str,
        ReadMetadata { metadata, opaque, filters, text }: ReadMetadata,
    ) -> Result<ZarrArray, Error> {
        let reader = Arc::new(Reader::new(Arc::clone(objects), MOST_METADATA_BYTES));
        let node = format!("/{path}");
        let uneven = largest_chunk(&metadata.chunk_grid, &metadata.shape)?;
        let (metadata, order) = match uneven {
            Some(_) => {
                let order = (0..metadata.shape.len()).collect();
                (metadata, order)
            }
            None => without_first_transposes(metadata),
        };
        let array = Array::new_with_metadata(Arc::clone(&reader), &node, metadata.into())
            .map_err(Error::unsupported)?;
        let dtype = element_type(&array, opaque.as_ref())?;
        let width = array.data_type().fixed_size();
        let width = width.ok_or_else(|| Error::unsupported("elements of variable length"))?;
        let (chunk, shard) = chunks(&array, uneven.as_deref())?;
        let is_uneven = uneven.is_some();
        if is_uneven && filters.has_differences() {
            return Err(Error::unsupported("the filter delta in chunks of different sizes"));
        }
        let chunk_bytes = bytes_of_chunk(&chunk, width)?;
        // The index of a shard and its chunks are read one at a time.
        let most = match &shard {
            // Nothing is read from an array without elements.
            None if array.shape().contains(&0) => MOST_ADDED_BYTES,
            None => encoded_bytes(&array, &chunk)?,
            Some(sizes) => {
                let count = chunks_of_shard(sizes, &chunk)?;
                (16 * count).max(2 * chunk_bytes) + MOST_ADDED_BYTES
            }
        };
        reader.expect(most);
        let shards = shards(&array, &chunk, shard.as_deref())?;
        let shape = array.shape().to_vec();
        let mut attributes = array.attributes().clone();
        let dimension_names = dimension_names(&array, &mut attributes);
        let (mut codecs, has_usual_index) = codecs(&array);
        let mut fill = array.fill_value().as_ne_bytes().to_vec();
        opaque.iter().for_each(|opaque| opaque.swap(&mut fill));
        let is_direct = shard.is_none() && !is_uneven && !filters.has_differences();
        let in_place = InPlace::of(&codecs).filter(|_| is_direct);
        codecs.splice(0..0, filters.codecs.iter().cloned());
        Ok(ZarrArray {
            path: path.to_owned(),
            shape,
            chunk,
            is_uneven,
            shard,
            has_usual_index,
            order,
            codecs,
            dtype,
            width,
            chunk_bytes: chunk_bytes as usize,
            dimension_names,
            attributes,
            fill,
            metadata: text,
            opaque,
            filters,
            in_place,
            shards,
            array,
        })
    }

    /// Reads the chunk at the grid position `index`, with its axes in the [`order`](ZarrArray::order) of the array.
    ///
    /// A chunk that was never written consists of fill values. A chunk at the edge of the array has its full size.
    ///
    /// # Errors
    /// [`Error`] if the chunk cannot be read or decoded.
    pub fn read_chunk(&self, index: &[u64]) -> Result<Vec<u8>, Error> {
        if self.is_uneven {
            return self.read_uneven(index);
        }
        let key = self.key(index);
        let wrong = |why: String| Error::Chunk { key: key.as_str().to_owned(), why };
        // Decode on this thread only: the caller has threads of its own.
        let options = CodecOptions::default().with_concurrent_target(1);
        let read = match &self.shards {
            None => guarded(|| {
                let read =
                    self.array.retrieve_chunk_if_exists_opt::<ArrayBytes<'_>>(index, &options);
                read.map_err(|error| error.to_string())
            }),
            Some(shards) => {
                let encoded = shards.read(&self.array.storage(), key.as_str(), index);
                let encoded = encoded.map_err(wrong)?;
                encoded
                    .map(|encoded| guarded(|| self.decoded(shards, encoded, &options)))
                    .transpose()
            }
        };
        let Some(read) = read.map_err(wrong)? else {
            return Ok(self.fill.repeat(self.chunk_bytes / self.fill.len().max(1)));
        };
        let bytes = read.into_fixed();
        let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
        if bytes.len() != self.chunk_bytes {
            let (got, expected) = (bytes.len(), self.chunk_bytes);
            return Err(wrong(format!("has {got} bytes, not {expected}")));
        }
        let mut bytes = bytes.into_owned();
        self.opaque.iter().for_each(|opaque| opaque.swap(&mut bytes));
        self.filters.undo(&mut bytes);
        Ok(bytes)
    }

    /// Reads the elements of the chunk at `index` from the stored chunks, which have different sizes.
    fn read_uneven(&self, index: &[u64]) -> Result<Vec<u8>, Error> {
        let (wanted, stored) = self.stored_chunks(index)?;
        let options = CodecOptions::default().with_concurrent_target(1);
        let mut out = self.array.fill_value().as_ne_bytes().repeat(self.chunk_bytes / self.width);
        for at in &stored.indices() {
            let key = self.array.chunk_key(&at);
            let wrong = |why: String| Error::Chunk { key: key.as_str().to_owned(), why };
            let subset = self.array.chunk_subset(&at).map_err(Error::unsupported)?;
            let read = guarded(|| {
                let read = self.array.retrieve_chunk_if_exists_opt::<ArrayBytes<'_>>(&at, &options);
                read.map_err(|error| error.to_string())
            });
            let Some(read) = read.map_err(wrong)? else { continue };
            let read = read.into_fixed().map_err(|error| wrong(error.to_string()))?;
            let (sizes, expected) = (subset.shape(), subset.num_elements() * self.width as u64);
            if read.len() as u64 != expected {
                return Err(wrong(format!("has {} bytes, not {expected}", read.len())));
            }
            let part = subset.overlap(&wanted).map_err(Error::unsupported)?;
            let from = Position { sizes, begin: subset.start() };
            let to = Position { sizes: &self.chunk, begin: wanted.start() };
            copy_part((&part, self.width), (&read, from), (&mut out, to));
        }
        self.opaque.iter().for_each(|opaque| opaque.swap(&mut out));
        Ok(out)
    }

    /// Returns the elements of the chunk at `index`, and the grid positions of the stored chunks that contain them.
    fn stored_chunks(&self, index: &[u64]) -> Result<(ArraySubset, ArraySubset), Error> {
        let axes = index.iter().zip(&self.chunk).zip(&self.shape);
        let ranges: Vec<_> = axes
            .map(|((i, chunk), size)| (i * chunk).min(*size)..((i + 1) * chunk).min(*size))
            .collect();
        let wanted = ArraySubset::new_with_ranges(&ranges);
        let stored = self.array.chunks_in_array_subset(&wanted).map_err(Error::unsupported)?;
        let stored = stored.ok_or_else(|| Error::unsupported("chunks beyond the grid"))?;
        Ok((wanted, stored))
    }

    fn decoded(
        &self,
        shards: &Shards,
        encoded: Vec<u8>,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'static>, String> {
        let sizes = self.chunk.iter().map(|size| NonZeroU64::try_from(*size));
        let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let (dtype, fill) = (self.array.data_type(), self.array.fill_value());
        let decoded = shards.inner.decode(encoded.into(), &sizes, dtype, fill, options);
        decoded.map_err(|error| error.to_string())
    }

    /// Reads a chunk into `out`, which must have exactly [`chunk_bytes`](ZarrArray::chunk_bytes) bytes.
    ///
    /// # Errors
    /// The errors of [`ZarrArray::read_chunk`].
    pub fn read_chunk_to(&self, index: &[u64], out: &mut [u8]) -> Result<(), Error> {
        let Some(in_place) = self.in_place else {
            out.copy_from_slice(&self.read_chunk(index)?);
            return Ok(());
        };
        let key = self.array.chunk_key(index);
        let is_there = in_place.read(&self.array.storage(), key.as_str(), out);
        if !is_there.map_err(|why| Error::Chunk { key: key.as_str().to_owned(), why })? {
            let elements = out.chunks_exact_mut(self.width.max(1));
            elements.for_each(|element| element.copy_from_slice(&self.fill));
        }
        Ok(())
    }

    /// Opens the encoded shard at the grid position `index`, or the encoded chunk if the array is not sharded; `None`
    /// if it was never written.
    ///
    /// # Errors
    /// [`Error`] if the object cannot be opened, or is longer than its codecs allow.
    pub fn encoded(&self, index: &[u64]) -> Result<Option<Object<'static>>, Error> {
        let key = self.array.chunk_key(index);
        let reader = self.array.storage();
        // The largest encoded size of a shard is not known.
        let most = self.shard.as_ref().map_or(reader.most(), |_| u64::MAX);
        let wrong = |why: String| Error::Chunk { key: key.as_str().to_owned(), why };
        reader.objects.object(key.as_str(), most).map_err(|error| wrong(error.to_string()))
    }

    /// Returns whether requests to the store go through a network.
    pub fn is_remote(&self) -> bool {
        self.array.storage().objects.is_remote()
    }

    /// Returns the key of the object that contains the chunk at `index`; in a sharded array, the shard.
    fn key(&self, index: &[u64]) -> StoreKey {
        let Some(shard) = &self.shard else { return self.array.chunk_key(index) };
        let axes = index.iter().zip(shard).zip(&self.chunk);
        let of: Vec<u64> = axes.map(|((i, shard), chunk)| i / (shard / chunk)).collect();
        self.array.chunk_key(&of)
    }
}

/// The position of a chunk in an array.
#[derive(Clone, Copy)]
struct Position<'a> {
    sizes: &'a [u64],
    begin: &'a [u64],
}

/// Copies elements of `width` bytes between two chunks that contain them.
fn copy_part(
    (part, width): (&ArraySubset, usize),
    (bytes, from): (&[u8], Position<'_>),
    (out, to): (&mut [u8], Position<'_>),
) {
    let lens = part.shape();
    let run = lens.last().map_or(1, |len| *len as usize) * width;
    let outer = &lens[..lens.len().saturating_sub(1)];
    for row in 0..outer.iter().product() {
        let [from, to] = [from, to].map(|position| {
            let (mut rest, mut at, mut step) = (row, 0, width as u64);
            for axis in (0..lens.len()).rev() {
                let within = if axis < outer.len() { rest % lens[axis] } else { 0 };
                at += (part.start()[axis] - position.begin[axis] + within) * step;
                step *= position.sizes[axis];
                rest /= if axis < outer.len() { lens[axis] } else { 1 };
            }
            at as usize
        });
        out[to..to + run].copy_from_slice(&bytes[from..from + run]);
    }
}

/// # Errors
/// [`Error::Unsupported`] if the size exceeds the limit.
pub(crate) fn bytes_of_chunk(sizes: &[u64], width: usize) -> Result<u64, Error> {
    let bytes = sizes.iter().try_fold(width as u64, |bytes, size| bytes.checked_mul(*size));
    bytes.filter(|bytes| *bytes <= MOST_CHUNK_BYTES).ok_or_else(|| {
        let sizes = listed(sizes);
        Error::Unsupported(format!(
            "chunks of {sizes} elements of {width} bytes, the limit is {MOST_CHUNK_BYTES} bytes"
        ))
    })
}

/// # Errors
/// [`Error::Unsupported`] if the number exceeds the limit.
pub(crate) fn chunks_of_shard(shard: &[u64], chunk: &[u64]) -> Result<u64, Error> {
    let mut counts = shard.iter().zip(chunk).map(|(shard, chunk)| shard / chunk);
    let count = counts.try_fold(1, u64::checked_mul);
    count.filter(|count| *count <= MOST_CHUNKS_OF_SHARD).ok_or_else(|| {
        Error::Unsupported(format!("shards of more than {MOST_CHUNKS_OF_SHARD} chunks"))
    })
}

pub(crate) fn listed(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// Runs `decode` once a core is free (see `cores.rs`), and turns a panic into an error. With nested shards, zarrs adds
/// up offsets and lengths from the store, and panics if the sum overflows.
fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(|| on_a_core(decode)))
        .unwrap_or_else(|_| Err("is inconsistent and cannot be decoded".to_owned()))
}

fn shards(array: &Inner, chunk: &[u64], shard: Option<&[u64]>) -> Result<Option<Shards>, Error> {
    let (ArrayMetadata::V3(metadata), Some(shard)) = (array.metadata(), shard) else {
        return Ok(None);
    };
    let sharding = metadata.codecs.first().and_then(MetadataV3::configuration);
    let counts = shard.iter().zip(chunk).map(|(shard, chunk)| shard / chunk).collect();
    sharding.map(|sharding| Shards::new(sharding, counts)).transpose()
}

/// Returns the codecs of a chunk (within a shard, in a sharded array), and whether the shard index has the usual form.
fn codecs(array: &Inner) -> (Vec<Value>, bool) {
    let ArrayMetadata::V3(metadata) = array.metadata() else { return (Vec::new(), true) };
    if !array.is_exclusively_sharded() {
        return (metadata.codecs.iter().map(codec).collect(), true);
    }
    let sharding = metadata.codecs.first().and_then(MetadataV3::configuration);
    let option = |key: &str| sharding.and_then(|sharding| sharding.get(key));
    let listed = |key: &str| -> Vec<Value> {
        let read =
            option(key).map(|codecs| serde_json::from_value::<Vec<MetadataV3>>(codecs.clone()));
        read.and_then(Result::ok).unwrap_or_default().iter().map(codec).collect()
    };
    let is_at_end = option("index_location").is_none_or(|location| location == "end");
    let of_index = listed("index_codecs");
    let names: Vec<&Value> = of_index.iter().map(|codec| &codec["name"]).collect();
    let is_little = of_index.first().is_some_and(|c| c["configuration"]["endian"] == "little");
    (listed("codecs"), is_at_end && is_little && names == ["bytes", "crc32c"])
}

/// The codecs that can decode a chunk into its destination, without a second buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InPlace {
    /// No codec: the stored bytes are the elements.
    Raw,
    Zstd,
}

impl InPlace {
    fn of(codecs: &[Value]) -> Option<InPlace> {
        let (bytes, others) = codecs.split_first()?;
        if bytes["name"] != "bytes" || bytes["configuration"]["endian"] == "big" {
            return None;
        }
        match others {
            [] => Some(InPlace::Raw),
            [codec] if codec["name"] == "zstd" => Some(InPlace::Zstd),
            _ => None,
        }
    }

    /// Reads a chunk into `out`, and returns whether it exists.
    fn read(self, reader: &Reader, key: &str, out: &mut [u8]) -> Result<bool, String> {
        let wrong = |error: io::Error| error.to_string();
        if self == InPlace::Raw {
            return reader.objects.read_all(key, out).map_err(wrong);
        }
        let encoded = reader.objects.read(key, ByteRange::All, reader.most()).map_err(wrong)?;
        let Some(encoded) = encoded else { return Ok(false) };
        let expected = out.len();
        let got = on_a_core(|| bounded::unpack_zstd(&encoded, expected as u64, out));
        match got.map_err(|error| error.to_string())? {
            got if got == expected => Ok(true),
            got => Err(format!("has {got} bytes, not {expected}")),
        }
    }
}

/// Removes the leading transpose codecs from the metadata. Also returns the axis order of a stored chunk.
fn without_first_transposes(mut metadata: ArrayMetadataV3) -> (ArrayMetadataV3, Vec<usize>) {
    let rank = metadata.shape.len();
    let within = |sharding: &MetadataV3| {
        let value = serde_json::to_value(sharding.configuration()?).ok()?;
        let mut configuration = value.as_object()?.clone();
        let codecs = configuration.get("codecs")?.clone();
        let codecs = serde_json::from_value::<Vec<MetadataV3>>(codecs).ok()?;
        let (codecs, order) = without_transposes(&codecs, rank)?;
        configuration.insert("codecs".to_owned(), serde_json::to_value(codecs).ok()?);
        Some((vec![MetadataV3::new_with_configuration(sharding.name(), configuration)], order))
    };
    let left = match &metadata.codecs[..] {
        [sharding] if sharding.name() == "sharding_indexed" => within(sharding),
        codecs => without_transposes(codecs, rank),
    };
    let Some((codecs, order)) = left else { return (metadata, (0..rank).collect()) };
    metadata.codecs = codecs;
    (metadata, order)
}

/// Returns the codecs after the leading transposes, and the axis order that the transposes make. `None` if a transpose
/// is malformed, or the next codec is not `bytes`.
fn without_transposes(codecs: &[MetadataV3], rank: usize) -> Option<(Vec<MetadataV3>, Vec<usize>)> {
    let transposes = codecs.iter().take_while(|codec| codec.name() == "transpose").count();
    let (transposes, others) = codecs.split_at(transposes);
    if others.first()?.name() != "bytes" {
        return None;
    }
    let mut order: Vec<usize> = (0..rank).collect();
    for codec in transposes {
        let axes = codec.configuration()?.get("order")?.clone();
        let taken = serde_json::from_value::<Vec<usize>>(axes).ok()?;
        let mut sorted = taken.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return None;
        }
        order = taken.iter().map(|axis| order[*axis]).collect();
    }
    Some((others.to_vec(), order))
}

/// Returns a codec as an object with a name and a configuration, also if the metadata has only its name.
pub(crate) fn codec(metadata: &MetadataV3) -> Value {
    json!({ "name": metadata.name(), "configuration": metadata.configuration() })
}

impl ZarrArray {
    /// Returns the metadata of the array as compact JSON, with numbers that JSON lacks as in [`trundle_json`].
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// Returns the objects of the store, and the path of the array in it.
    pub(crate) fn in_store(&self) -> (Arc<dyn ObjectStore>, &str) {
        (Arc::clone(&self.array.storage().objects), &self.path)
    }

    /// Returns the size and the time of the last write of the object that contains the chunk at `index`; `None` if the
    /// object does not exist. If several objects contain the chunk, returns their total size, and a tag that differs if
    /// one of them was replaced.
    ///
    /// # Errors
    /// If the store cannot be queried, or the chunk is not a regular object.
    pub fn stat(&self, index: &[u64]) -> io::Result<Option<Stat>> {
        let objects = &self.array.storage().objects;
        if !self.is_uneven {
            return objects.stat(self.key(index).as_str());
        }
        let (_, stored) = self.stored_chunks(index)?;
        let (mut bytes, mut tags, mut is_known) = (None, Vec::new(), true);
        for at in &stored.indices() {
            let found = objects.stat(self.array.chunk_key(&at).as_str())?;
            if let Some(found) = &found {
                bytes = Some(bytes.unwrap_or(0) + found.bytes);
                is_known &= found.modified.is_some() || found.tag.is_some();
            }
            tags.push(found.map(|found| (found.bytes, found.modified, found.tag)));
        }
        let tag = is_known.then(|| format!("{tags:?}"));
        Ok(bytes.map(|bytes| Stat { bytes, modified: None, tag }))
    }
}

/// Returns the axis names. If the metadata has none, takes them out of xarray's attribute.
fn dimension_names(array: &Inner, attributes: &mut Attributes) -> Vec<Option<String>> {
    let names = array.dimension_names().clone().filter(|names| !names.is_empty());
    let names = names.or_else(|| take_axis_names(attributes, array.shape().len()));
    named_axes(names.unwrap_or_default())
}

/// Removes [`DIMENSIONS`] from the attributes and returns its names, if they fit an array of `rank` axes.
pub(crate) fn take_axis_names(
    attributes: &mut Attributes,
    rank: usize,
) -> Option<Vec<Option<String>>> {
    let names = axis_names(attributes.get(DIMENSIONS)?, rank)?;
    attributes.shift_remove(DIMENSIONS);
    Some(names)
}

/// Returns the names in a JSON list; `None` if it is not a list of a string or null for each of `rank` axes.
pub(crate) fn axis_names(list: &Value, rank: usize) -> Option<Vec<Option<String>>> {
    let list = list.as_array().filter(|list| list.len() == rank)?;
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        // A string may stand for a number that a value cannot hold.
        Value::String(text) if trundle_json::float(name).is_none() => Some(Some(text.clone())),
        _ => None,
    };
    list.iter().map(name).collect()
}

/// Returns the names of axes; empty if no axis has a name.
pub(crate) fn named_axes(names: Vec<Option<String>>) -> Vec<Option<String>> {
    if names.iter().all(Option::is_none) { Vec::new() } else { names }
}

/// The attribute that xarray uses for axis names in version 2 of Zarr.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

fn element_type(array: &Inner, opaque: Option<&Opaque>) -> Result<String, Error> {
    if cfg!(target_endian = "big") {
        return Err(Error::unsupported("Zarr on a big-endian machine"));
    }
    if let Some(opaque) = opaque {
        return Ok(opaque.name.clone());
    }
    if let ArrayMetadata::V3(metadata) = array.metadata()
        && let Some(numpy) = times::numpy_name(&metadata.data_type)
    {
        return Ok(numpy);
    }
    // zarrs gives both names of a type that has two: `float32 / <f4`. Types without a name in version 3 keep numpy's.
    let names = array.data_type().to_string();
    let (v3, numpy) = names.split_once(" / ").unwrap_or((&names, ""));
    let is_text = numpy.starts_with(['<', '>']) && numpy.contains('U');
    Ok(if is_text { numpy } else { v3 }.to_owned())
}

fn chunks(array: &Inner, uneven: Option<&[u64]>) -> Result<(Vec<u64>, Option<Vec<u64>>), Error> {
    let rank = array.shape().len();
    if rank > MOST_AXES {
        return Err(Error::Unsupported(format!("{rank} axes, the limit is {MOST_AXES}")));
    }
    if array.shape().contains(&0) {
        return Ok((vec![1; rank], None));
    }
    if let Some(largest) = uneven {
        return match array.is_sharded() {
            true => Err(Error::unsupported("shards of different sizes")),
            false => Ok((largest.to_vec(), None)),
        };
    }
    let stored = array.chunk_shape(&vec![0; rank]).map_err(Error::unsupported)?;
    let stored: Vec<u64> = stored.iter().map(|size| size.get()).collect();
    if !array.is_exclusively_sharded() {
        return Ok((stored, None));
    }
    let inner = array.effective_subchunk_shape();
    let inner = inner.ok_or_else(|| Error::unsupported("shards with unknown chunk sizes"))?;
    let inner: Vec<u64> = inner.iter().map(|size| size.get()).collect();
    if stored.iter().zip(&inner).any(|(shard, chunk)| !shard.is_multiple_of(*chunk)) {
        return Err(Error::unsupported("shards that are not a whole number of chunks"));
    }
    Ok((inner, Some(stored)))
}

fn encoded_bytes(array: &Inner, sizes: &[u64]) -> Result<u64, Error> {
    let sizes: Option<Vec<_>> = sizes.iter().map(|size| (*size).try_into().ok()).collect();
    let sizes = sizes.ok_or_else(|| Error::unsupported("chunks without elements"))?;
    let codecs = array.codecs();
    let encoded = codecs.encoded_representation(&sizes, array.data_type(), array.fill_value());
    match encoded.map_err(Error::unsupported)? {
        BytesRepresentation::FixedSize(bytes) | BytesRepresentation::BoundedSize(bytes) => {
            Ok(bytes)
        }
        BytesRepresentation::UnboundedSize => {
            Err(Error::unsupported("chunks of unknown encoded size"))
        }
    }
}
