//! An array of a store.

use std::io;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayShardedExt, ArrayToBytesCodecTraits,
    BytesRepresentation, CodecOptions,
};
use zarrs::metadata::v3::{ArrayMetadataV3, MetadataV3};
use zarrs::storage::StoreKey;

use crate::bounded;
use crate::cores::on_a_core;
use crate::error::Error;
use crate::metadata;
use crate::object_store::{Object, ObjectStore, Part, Stat};
use crate::reader::Reader;
use crate::shards::Shards;
use crate::store::Attributes;

/// Metadata of more bytes is refused.
pub(crate) const MOST_METADATA_BYTES: u64 = 16 << 20;

/// The most bytes of a decoded chunk: Blosc has no larger ones.
pub(crate) const MOST_CHUNK_BYTES: u64 = (1 << 31) - 1;

/// The most chunks of a shard: its index, of 16 bytes for each, is in memory beside them.
pub(crate) const MOST_CHUNKS_OF_SHARD: u64 = 1 << 18;

/// What codecs may add to the bytes of a chunk that does not become shorter, and its checksum.
const MOST_ADDED_BYTES: u64 = 64 << 10;

/// More axes than this nobody has.
pub(crate) const MOST_AXES: usize = 32;

type Inner = Array<Reader>;

/// An array: what its metadata says, and its chunks. Where chunks are in shards, `chunk` is what they are
/// made of: the least that can be read by itself.
#[derive(Debug)]
pub struct ZarrArray {
    /// Its path below the root, without a slash at either end; empty for the root itself.
    pub path: String,
    /// The sizes of its axes.
    pub shape: Vec<u64>,
    /// The sizes of a chunk, each 1 at least.
    pub chunk: Vec<u64>,
    /// The sizes of a shard, if chunks are in shards.
    pub shard: Option<Vec<u64>>,
    /// Whether the index of a shard is where and how [`ArrayWriter`](crate::ArrayWriter) writes it.
    pub has_usual_index: bool,
    /// The axes of a chunk in the order in which its elements stand there, the slowest first: what codecs that
    /// transpose, and come before all others, make of it.
    pub order: Vec<usize>,
    /// The others of a chunk, as the metadata of version 3 has them, also of an array of version 2.
    pub codecs: Vec<Value>,
    /// The type of its elements: a name of Zarr's version 3, as `float32`, or numpy's, as `<U4`.
    /// Elements are little-endian, whatever they are in the store.
    pub dtype: String,
    /// The bytes of an element.
    pub width: usize,
    /// The bytes of a chunk.
    pub chunk_bytes: usize,
    /// The names of its axes, if any has one.
    pub dimension_names: Vec<Option<String>>,
    /// All that is said of it besides.
    pub attributes: Attributes,
    /// The bytes of the element that stands for all that was never written.
    pub fill: Vec<u8>,
    metadata: String,
    in_place: Option<InPlace>,
    array: Inner,
    shards: Option<Shards>,
}

impl ZarrArray {
    /// Reads the metadata of the array at `path` of a store.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read, is malformed or not understood.
    pub(crate) fn open(objects: &Arc<dyn ObjectStore>, path: &str) -> Result<ZarrArray, Error> {
        bounded::register();
        let reader = Arc::new(Reader::new(Arc::clone(objects), MOST_METADATA_BYTES));
        let node = format!("/{path}");
        let (metadata, text) = metadata::of_array(&**objects, path)?;
        let (metadata, order) = as_stored(metadata);
        let array = Array::new_with_metadata(Arc::clone(&reader), &node, metadata.into())
            .map_err(Error::unsupported)?;
        let dtype = element_type(&array)?;
        let width = array.data_type().fixed_size();
        let width = width.ok_or_else(|| Error::unsupported("elements of variable length"))?;
        let (chunk, shard) = chunks(&array)?;
        let elements = chunk.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        let bytes = elements.and_then(|elements| elements.checked_mul(width as u64));
        let chunk_bytes = bytes.filter(|bytes| *bytes <= MOST_CHUNK_BYTES).ok_or_else(|| {
            let sizes: Vec<String> = chunk.iter().map(u64::to_string).collect();
            let sizes = sizes.join("x");
            Error::Unsupported(format!(
                "chunks of {sizes} elements of {width} bytes, where {MOST_CHUNK_BYTES} bytes are the most"
            ))
        })?;
        // Of a shard its index and one chunk after another are read.
        let most = match &shard {
            // Of no elements nothing is read.
            None if array.shape().contains(&0) => MOST_ADDED_BYTES,
            None => encoded_bytes(&array, &chunk)?,
            Some(sizes) => {
                let axes = sizes.iter().zip(&chunk);
                let count = axes.map(|(shard, chunk)| shard / chunk).try_fold(1, u64::checked_mul);
                let count =
                    count.filter(|count| *count <= MOST_CHUNKS_OF_SHARD).ok_or_else(|| {
                        let most = MOST_CHUNKS_OF_SHARD;
                        Error::Unsupported(format!("shards of more than {most} chunks"))
                    })?;
                (16 * count).max(2 * chunk_bytes) + MOST_ADDED_BYTES
            }
        };
        reader.expect(most);
        let shards = shards(&array, &chunk, shard.as_deref())?;
        let shape = array.shape().to_vec();
        let mut attributes = array.attributes().clone();
        let dimension_names = dimension_names(&array, &mut attributes);
        let (codecs, has_usual_index) = codecs(&array);
        let in_place = InPlace::of(&codecs).filter(|_| shard.is_none());
        Ok(ZarrArray {
            path: path.to_owned(),
            shape,
            chunk,
            shard,
            has_usual_index,
            order,
            codecs,
            dtype,
            width,
            chunk_bytes: chunk_bytes as usize,
            dimension_names,
            attributes,
            fill: array.fill_value().as_ne_bytes().to_vec(),
            metadata: text,
            in_place,
            shards,
            array,
        })
    }

    /// The elements of the chunk at `index`, one for each axis, in the array's [`order`](ZarrArray::order); what
    /// no file has is the fill value. It has all of its elements also where it reaches beyond the array's end.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read or decoded.
    pub fn read_chunk(&self, index: &[u64]) -> Result<Vec<u8>, Error> {
        let key = self.key(index);
        let wrong = |why: String| Error::Chunk { key: key.as_str().to_owned(), why };
        // One chunk at a time on this thread: the caller has threads of its own.
        let options = CodecOptions::default().with_concurrent_target(1);
        let read = match &self.shards {
            None => guarded(|| {
                let read = self.array.retrieve_chunk_opt::<ArrayBytes<'_>>(index, &options);
                read.map_err(|error| error.to_string())
            }),
            Some(shards) => {
                let encoded = shards.read(&self.array.storage(), key.as_str(), index);
                let Some(encoded) = encoded.map_err(wrong)? else {
                    return Ok(self.fill.repeat(self.chunk_bytes / self.fill.len().max(1)));
                };
                guarded(|| self.decoded(shards, encoded, &options))
            }
        };
        let bytes = read.map_err(wrong)?.into_fixed();
        let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
        if bytes.len() != self.chunk_bytes {
            let (got, expected) = (bytes.len(), self.chunk_bytes);
            return Err(wrong(format!("has {got} bytes, not {expected}")));
        }
        Ok(bytes.into_owned())
    }

    /// A chunk of a shard, from its encoded bytes.
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

    /// The same elements, where `out` has room for all of them.
    ///
    /// # Errors
    /// As [`ZarrArray::read_chunk`].
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

    /// A chunk as it is encoded, or a shard where there are some, at `index` of its like; none if it was never
    /// written.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened, or is longer than codecs make it.
    pub fn encoded(&self, index: &[u64]) -> Result<Option<Object<'static>>, Error> {
        let key = self.array.chunk_key(index);
        let reader = self.array.storage();
        // How long a shard is was never asked of one that is read chunk by chunk.
        let most = self.shard.as_ref().map_or(reader.most(), |_| u64::MAX);
        let wrong = |why: String| Error::Chunk { key: key.as_str().to_owned(), why };
        reader.objects.object(key.as_str(), most).map_err(|error| wrong(error.to_string()))
    }

    /// Whether each question to what it is in takes as long as a network does.
    pub fn is_remote(&self) -> bool {
        self.array.storage().objects.is_remote()
    }

    /// The key of what has the chunk at `index`: its shard, if it is in one.
    fn key(&self, index: &[u64]) -> StoreKey {
        let Some(shard) = &self.shard else { return self.array.chunk_key(index) };
        let axes = index.iter().zip(shard).zip(&self.chunk);
        let of: Vec<u64> = axes.map(|((i, shard), chunk)| i / (shard / chunk)).collect();
        self.array.chunk_key(&of)
    }
}

/// The result of `decode` on a core of its own. Where shards are within others, zarrs adds up offsets and lengths
/// that the store states, and panics if their sum overflows.
fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(|| on_a_core(decode)))
        .unwrap_or_else(|_| Err("contradicts itself, and could not be decoded".to_owned()))
}

/// The shards of an array, if its chunks are in shards.
fn shards(array: &Inner, chunk: &[u64], shard: Option<&[u64]>) -> Result<Option<Shards>, Error> {
    let (ArrayMetadata::V3(metadata), Some(shard)) = (array.metadata(), shard) else {
        return Ok(None);
    };
    let sharding = metadata.codecs.first().and_then(MetadataV3::configuration);
    let counts = shard.iter().zip(chunk).map(|(shard, chunk)| shard / chunk).collect();
    sharding.map(|sharding| Shards::new(sharding, counts)).transpose()
}

/// The codecs of a chunk, those within where chunks are in shards, and whether the index of these is the usual
/// one.
fn codecs(array: &Inner) -> (Vec<Value>, bool) {
    let ArrayMetadata::V3(metadata) = array.metadata() else { return (Vec::new(), true) };
    if !array.is_exclusively_sharded() {
        return (metadata.codecs.iter().map(codec).collect(), true);
    }
    let sharding = metadata.codecs.first().and_then(MetadataV3::configuration);
    let told = |key: &str| sharding.and_then(|sharding| sharding.get(key));
    let listed = |key: &str| -> Vec<Value> {
        let read =
            told(key).map(|codecs| serde_json::from_value::<Vec<MetadataV3>>(codecs.clone()));
        read.and_then(Result::ok).unwrap_or_default().iter().map(codec).collect()
    };
    let is_at_end = told("index_location").is_none_or(|location| location == "end");
    let of_index = listed("index_codecs");
    let names: Vec<&Value> = of_index.iter().map(|codec| &codec["name"]).collect();
    let is_little = of_index.first().is_some_and(|c| c["configuration"]["endian"] == "little");
    (listed("codecs"), is_at_end && is_little && names == ["bytes", "crc32c"])
}

/// The codecs of which a chunk can be decoded where it is wanted, without memory for all of it beside that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InPlace {
    /// None: the bytes are the elements.
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

    /// Reads what fills `out`; whether it is there.
    fn read(self, reader: &Reader, key: &str, out: &mut [u8]) -> Result<bool, String> {
        let wrong = |error: io::Error| error.to_string();
        if self == InPlace::Raw {
            return reader.objects.read_all(key, out).map_err(wrong);
        }
        let encoded = reader.objects.read(key, Part::All, reader.most()).map_err(wrong)?;
        let Some(encoded) = encoded else { return Ok(false) };
        let expected = out.len();
        let got = on_a_core(|| bounded::unpack_zstd(&encoded, expected as u64, out));
        match got.map_err(|error| error.to_string())? {
            got if got == expected => Ok(true),
            got => Err(format!("has {got} bytes, not {expected}")),
        }
    }
}

/// What an array says of itself without the codecs that only transpose its chunks, and the axes of a chunk in the
/// order in which these leave its elements.
fn as_stored(mut metadata: ArrayMetadataV3) -> (ArrayMetadataV3, Vec<usize>) {
    let rank = metadata.shape.len();
    let within = |sharding: &MetadataV3| {
        let told = serde_json::to_value(sharding.configuration()?).ok()?;
        let mut configuration = told.as_object()?.clone();
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

/// What follows the codecs that transpose, and the order of axes that these make. None if there is nothing to
/// leave out, or what follows is not what makes bytes of elements.
fn without_transposes(codecs: &[MetadataV3], rank: usize) -> Option<(Vec<MetadataV3>, Vec<usize>)> {
    let transposes = codecs.iter().take_while(|codec| codec.name() == "transpose").count();
    let (transposes, others) = codecs.split_at(transposes);
    if others.first()?.name() != "bytes" {
        return None;
    }
    let mut order: Vec<usize> = (0..rank).collect();
    for codec in transposes {
        let told = codec.configuration()?.get("order")?.clone();
        let taken = serde_json::from_value::<Vec<usize>>(told).ok()?;
        let mut sorted = taken.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return None;
        }
        order = taken.iter().map(|axis| order[*axis]).collect();
    }
    Some((others.to_vec(), order))
}

/// A codec with its name and its configuration, also where it is written as a name alone.
fn codec(metadata: &MetadataV3) -> Value {
    json!({ "name": metadata.name(), "configuration": metadata.configuration() })
}

impl ZarrArray {
    /// What the store says of the array, as text.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// What is known of the object that has the chunk at `index`; `None` if there is none.
    pub fn stored(&self, index: &[u64]) -> Option<Stat> {
        self.array.storage().objects.stat(self.key(index).as_str()).ok()?
    }
}

/// The names of the axes. What has no place for them keeps them among the attributes, as xarray does, which
/// they leave.
fn dimension_names(array: &Inner, attributes: &mut Attributes) -> Vec<Option<String>> {
    let stated = array.dimension_names().clone().unwrap_or_default();
    let rank = array.shape().len();
    let kept = attributes.get(DIMENSIONS).and_then(Value::as_array);
    let kept = kept.filter(|kept| kept.len() == rank && kept.iter().all(Value::is_string));
    if !stated.is_empty() || kept.is_none() {
        return if stated.iter().all(Option::is_none) { Vec::new() } else { stated };
    }
    let kept = attributes.remove(DIMENSIONS);
    let kept = kept.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    kept.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The attribute in which xarray keeps the names of axes where Zarr has no place for them.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// What the elements are called.
fn element_type(array: &Inner) -> Result<String, Error> {
    if cfg!(target_endian = "big") {
        return Err(Error::unsupported("Zarr on a big-endian machine"));
    }
    // Both names, where a type has two: `float32 / <f4`. numpy's is taken for what has no name in
    // version 3.
    let names = array.data_type().to_string();
    let (v3, numpy) = names.split_once(" / ").unwrap_or((&names, ""));
    let is_text = numpy.starts_with(['<', '>', '|']) && numpy.contains(['U', 'V']);
    Ok(if is_text { numpy } else { v3 }.to_owned())
}

/// The sizes of a chunk, and of a shard if there are any.
fn chunks(array: &Inner) -> Result<(Vec<u64>, Option<Vec<u64>>), Error> {
    let rank = array.shape().len();
    if rank > MOST_AXES {
        return Err(Error::Unsupported(format!("{rank} axes, where {MOST_AXES} are the most")));
    }
    if let ArrayMetadata::V3(metadata) = array.metadata()
        && metadata.chunk_grid.name() != "regular"
    {
        let name = metadata.chunk_grid.name();
        return Err(Error::Unsupported(format!("chunks of different sizes ({name})")));
    }
    if array.shape().contains(&0) {
        return Ok((vec![1; rank], None));
    }
    let stored = array.chunk_shape(&vec![0; rank]).map_err(Error::unsupported)?;
    let stored: Vec<u64> = stored.iter().map(|size| size.get()).collect();
    if !array.is_exclusively_sharded() {
        return Ok((stored, None));
    }
    let inner = array.effective_subchunk_shape();
    let inner = inner.ok_or_else(|| Error::unsupported("shards whose chunks nobody can tell"))?;
    let inner: Vec<u64> = inner.iter().map(|size| size.get()).collect();
    if stored.iter().zip(&inner).any(|(shard, chunk)| !shard.is_multiple_of(*chunk)) {
        return Err(Error::unsupported("shards that are no whole number of chunks"));
    }
    Ok((inner, Some(stored)))
}

/// The most bytes that a chunk of these sizes may have in the store.
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
            Err(Error::unsupported("chunks of which nothing says how long they can be"))
        }
    }
}
