//! Writes a Zarr array.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::codec::api::{BytesToBytesCodecTraits, Codec};
use zarrs::array::{
    Array, ArrayBuilder, ArrayBytes, ArrayToBytesCodecTraits, CodecOptions, FillValue,
};
use zarrs::metadata::v3::MetadataV3;

use crate::array::{MOST_AXES, ZarrArray, bytes_of_chunk, chunks_of_shard, listed};
use crate::bounded;
use crate::cores::on_a_core;
use crate::error::Error;
use crate::metadata::{self, Attributes, MOST_METADATA_BYTES, ReadMetadata, V3};
use crate::object_store::{Object, ObjectStore, key_of};
use crate::opaque::{self, Opaque};
use crate::reader::Reader;
use crate::store::MOST_DEPTH;
use crate::times;
use crate::zstd_encoders::ZstdEncoders;

/// A new Zarr array, to be written in version 3 of the format with little-endian elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArray {
    /// The path below the root, without a leading or trailing slash; empty for the root itself.
    pub path: String,
    /// The size of each axis in elements.
    pub shape: Vec<u64>,
    /// The chunk sizes in elements, each at least 1.
    pub chunk: Vec<u64>,
    /// The shard sizes in elements, multiples of the chunk sizes, if the array is sharded.
    pub shard: Option<Vec<u64>>,
    /// The order of the axes in a stored chunk, slowest first. Any order except row-major adds a transpose codec.
    pub order: Vec<usize>,
    /// The bytes-to-bytes codecs of a chunk, in order, as metadata of version 3.
    pub codecs: Vec<Value>,
    /// The element type, as in [`ZarrArray::dtype`](crate::ZarrArray::dtype).
    pub dtype: String,
    /// The axis names; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// The attributes.
    pub attributes: Attributes,
    /// The bytes of the fill value, which is one element.
    pub fill: Vec<u8>,
}

/// Writes the chunks or shards of an array, each once, in any order and from any number of threads.
#[derive(Debug)]
pub struct ArrayWriter {
    array: Array<Reader>,
    /// The sizes of a shard, or of a chunk if the array is not sharded.
    sizes: Vec<NonZeroU64>,
    bytes: usize,
    /// The encoders, if zstd is the only codec.
    encoders: Option<ZstdEncoders>,
    /// The existing array into which the chunks are later moved.
    existing: Option<Existing>,
    /// The type of the elements in the existing array, if zarrs sees raw bytes instead.
    opaque: Option<Opaque>,
}

#[derive(Debug)]
struct Existing {
    objects: Arc<dyn ObjectStore>,
    /// The grid position of the first shard or chunk that is written.
    first: Vec<u64>,
}

impl NewArray {
    /// Returns the sizes in elements of a shard, or of a chunk if the array is not sharded.
    pub fn written_at_once(&self) -> &[u64] {
        self.shard.as_deref().unwrap_or(&self.chunk)
    }

    /// Checks that the array can be written.
    ///
    /// # Errors
    /// [`Error`] if the type is not supported, chunks or shards are too large, or the sizes do not fit each other.
    pub fn check(&self) -> Result<(), Error> {
        let (rank, depth) = (self.shape.len(), self.path.split('/').count());
        if rank > MOST_AXES {
            return Err(Error::Unsupported(format!("{rank} axes, the limit is {MOST_AXES}")));
        }
        if depth >= MOST_DEPTH {
            let why = format!("{depth} folders deep, the limit is {MOST_DEPTH}");
            return Err(Error::Unsupported(why));
        }
        if self.fill.is_empty() {
            return Err(Error::unsupported("elements of 0 bytes"));
        }
        self.bytes_at_once()?;
        self.builder()?.build_metadata().map_err(Error::unsupported)?;
        Ok(())
    }

    fn bytes_at_once(&self) -> Result<usize, Error> {
        let at_once = self.written_at_once();
        if at_once.len() != self.shape.len() || self.chunk.len() != self.shape.len() {
            let (shape, chunk) = (listed(&self.shape), listed(at_once));
            return Err(Error::Unsupported(format!("chunks of {chunk} of an array of {shape}")));
        }
        if let Some(shard) = &self.shard {
            let mut axes = shard.iter().zip(&self.chunk);
            if axes.any(|(shard, chunk)| !shard.is_multiple_of(*chunk)) {
                let (shard, chunk) = (listed(shard), listed(&self.chunk));
                let why = format!("shards of {shard} are not a whole number of chunks of {chunk}");
                return Err(Error::Unsupported(why));
            }
            chunks_of_shard(shard, &self.chunk)?;
        }
        Ok(bytes_of_chunk(at_once, self.fill.len())? as usize)
    }

    pub(crate) fn metadata(&self) -> Result<Value, Error> {
        let metadata = self.builder()?.build_metadata().map_err(Error::unsupported)?;
        self.document(serde_json::to_value(metadata).map_err(Error::unsupported)?)
    }

    /// Returns the `zarr.json` for metadata of zarrs, with the type of the elements.
    fn document(&self, mut document: Value) -> Result<Value, Error> {
        if let Some((data_type, fill)) = opaque::written(&self.dtype, &self.fill)? {
            (document["data_type"], document["fill_value"]) = (data_type, fill);
        }
        Ok(document)
    }

    fn builder(&self) -> Result<ArrayBuilder, Error> {
        let fill = FillValue::new(self.fill.clone());
        let at_once = self.written_at_once().to_vec();
        let shape = self.shape.clone();
        let dtype = match times::metadata(&self.dtype) {
            Some(time) => time,
            None if opaque::written(&self.dtype, &self.fill)?.is_some() => {
                MetadataV3::new(format!("r{}", 8 * self.fill.len()))
            }
            None if self.dtype.starts_with("<U") => utf32(self.fill.len()),
            None => MetadataV3::new(self.dtype.as_str()),
        };
        let mut builder = ArrayBuilder::new(shape, at_once, dtype, fill);
        let codecs = self.codecs.iter().map(codec_of_bytes).collect::<Result<Vec<_>, _>>()?;
        builder.bytes_to_bytes_codecs(codecs);
        if !self.order.is_sorted() {
            let metadata = json!({"name": "transpose", "configuration": {"order": self.order}});
            let Codec::ArrayToArray(transpose) = codec(&metadata)? else {
                return Err(Error::Unsupported(
                    "codec transpose does not encode arrays".to_owned(),
                ));
            };
            builder.array_to_array_codecs(vec![transpose]);
        }
        builder.subchunk_shape(self.shard.is_some().then(|| self.chunk.clone()));
        let names = Some(self.dimension_names.clone()).filter(|names| !names.is_empty());
        builder.dimension_names(names);
        builder.attributes(self.attributes.clone());
        Ok(builder)
    }
}

pub(crate) fn codec_of_bytes(metadata: &Value) -> Result<Arc<dyn BytesToBytesCodecTraits>, Error> {
    match codec(metadata)? {
        Codec::BytesToBytes(codec) => Ok(codec),
        _ => Err(Error::Unsupported(format!("codec {} does not encode bytes", metadata["name"]))),
    }
}

fn codec(metadata: &Value) -> Result<Codec, Error> {
    bounded::register();
    let read =
        serde_json::from_value::<MetadataV3>(metadata.clone()).map_err(Error::unsupported)?;
    Codec::from_metadata(&read).map_err(Error::unsupported)
}

fn utf32(width: usize) -> MetadataV3 {
    let mut configuration = serde_json::Map::new();
    configuration.insert("length_bytes".to_owned(), width.into());
    MetadataV3::new_with_configuration("fixed_length_utf32", configuration)
}

impl ArrayWriter {
    /// Writes the metadata of a new array. [`create_groups`](crate::create_groups) writes the groups.
    ///
    /// # Errors
    /// [`Error`] in the cases of [`NewArray::check`], and if the metadata cannot be written.
    pub fn create(objects: &Arc<dyn ObjectStore>, new: &NewArray) -> Result<ArrayWriter, Error> {
        let writer = ArrayWriter::join(objects, new)?;
        let metadata = serde_json::to_value(writer.array.metadata()).map_err(Error::unsupported)?;
        let metadata = new.document(metadata)?;
        let text = trundle_json::to_pretty_text(&metadata).into_bytes();
        objects.write(&key_of(&new.path, V3), Object::Bytes(text.into()))?;
        Ok(writer)
    }

    /// Returns a writer for an array whose metadata another process has written.
    ///
    /// # Errors
    /// [`Error`] in the cases of [`NewArray::check`].
    pub fn join(objects: &Arc<dyn ObjectStore>, new: &NewArray) -> Result<ArrayWriter, Error> {
        let bytes = new.bytes_at_once()?;
        let reader = Arc::new(Reader::new(Arc::clone(objects), MOST_METADATA_BYTES));
        let path = format!("/{}", new.path);
        let array = new.builder()?.build(reader, &path).map_err(Error::unsupported)?;
        let sizes = new.written_at_once().iter().map(|size| NonZeroU64::try_from(*size));
        let sizes = sizes.collect::<Result<_, _>>().map_err(Error::unsupported)?;
        let is_plain = new.shard.is_none() && new.order.is_sorted();
        let encoders = ZstdEncoders::of(&new.codecs).filter(|_| is_plain);
        Ok(ArrayWriter { array, sizes, bytes, encoders, existing: None, opaque: None })
    }

    /// Returns a writer of chunks for the array at `path` of the store `existing`, which has or gets the shape `shape`.
    ///
    /// The chunks have the codecs of the array and go to `objects`, under the keys that they have in `existing`. `first`
    /// is the grid position of the first one; the index 0 stands for it.
    ///
    /// # Errors
    /// [`Error`] if the metadata cannot be read, or is not supported.
    pub fn into_existing(
        objects: &Arc<dyn ObjectStore>,
        existing: &Arc<dyn ObjectStore>,
        path: &str,
        shape: &[u64],
        first: &[u64],
    ) -> Result<ArrayWriter, Error> {
        bounded::register();
        let ReadMetadata { mut metadata, opaque, filters, .. } =
            metadata::of_array(&**existing, path)?;
        if let Some(filter) = filters.codecs.first() {
            let name = &filter["name"];
            return Err(Error::Unsupported(format!("the filter {name} is only read")));
        }
        if metadata.chunk_grid.name() != "regular" {
            return Err(Error::unsupported("chunks of different sizes are only read"));
        }
        metadata.shape = shape.into();
        let reader = Arc::new(Reader::new(Arc::clone(objects), MOST_METADATA_BYTES));
        let array = Array::new_with_metadata(reader, &format!("/{path}"), metadata.into());
        let array = array.map_err(Error::unsupported)?;
        let width = array.data_type().fixed_size();
        let width = width.ok_or_else(|| Error::unsupported("elements of variable length"))?;
        let sizes = match shape.contains(&0) {
            // Nothing is written to an array without elements.
            true => vec![NonZeroU64::MIN; shape.len()],
            false => array.chunk_shape(&vec![0; shape.len()]).map_err(Error::unsupported)?,
        };
        let at_once: Vec<u64> = sizes.iter().map(|size| size.get()).collect();
        let bytes = bytes_of_chunk(&at_once, width)? as usize;
        let existing = Existing { objects: Arc::clone(existing), first: first.to_vec() };
        Ok(ArrayWriter { array, sizes, bytes, encoders: None, existing: Some(existing), opaque })
    }

    /// Returns the grid position in the array of the shard or chunk at `index`.
    fn index(&self, index: &[u64]) -> Vec<u64> {
        match &self.existing {
            Some(existing) => {
                index.iter().zip(&existing.first).map(|(i, first)| i + first).collect()
            }
            None => index.to_vec(),
        }
    }

    fn objects(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.array.storage().objects)
    }

    /// Opens the array for reading.
    ///
    /// # Errors
    /// [`Error`] if the metadata of the array cannot be read.
    pub fn written(&self) -> Result<ZarrArray, Error> {
        let path = self.array.path().as_str().trim_start_matches('/');
        match &self.existing {
            Some(Existing { objects, .. }) => {
                ZarrArray::reshaped(&**objects, path, self.array.shape(), &self.objects())
            }
            None => ZarrArray::open(&self.objects(), path),
        }
    }

    /// Writes the shard at the grid position `index`, or the chunk if the array is not sharded. Returns its key and
    /// encoded size in bytes.
    ///
    /// `bytes` contains all elements, row-major and little-endian, including those beyond the edge of the array. If all
    /// have the fill value, nothing is written and the result is `None`, unless it replaces a chunk.
    ///
    /// # Errors
    /// [`Error`] if `bytes` has the wrong length, or cannot be encoded or written.
    pub fn write(&self, index: &[u64], bytes: &[u8]) -> Result<Option<(String, u64)>, Error> {
        let index = self.index(index);
        let key = self.array.chunk_key(&index);
        let wrong = |why: String| Error::Chunk { key: key.as_str().to_owned(), why };
        if bytes.len() != self.bytes {
            let (got, expected) = (bytes.len(), self.bytes);
            return Err(wrong(format!("has {got} bytes, not {expected}")));
        }
        let mut bytes = Cow::Borrowed(bytes);
        if let Some(opaque) = self.opaque.as_ref().filter(|opaque| opaque.has_big_endian_parts()) {
            opaque.swap(bytes.to_mut());
        }
        let fill = self.array.fill_value().as_ne_bytes();
        if bytes.chunks_exact(fill.len().max(1)).all(|element| element == fill) {
            // A chunk that is there already would stay.
            let is_there = match &self.existing {
                Some(existing) => existing.objects.stat(key.as_str())?.is_some(),
                None => false,
            };
            if !is_there {
                return Ok(None);
            }
        }
        if let Some(encoders) = &self.encoders {
            let write = |encoded: &[u8]| {
                self.objects().write(key.as_str(), Object::Bytes(Cow::Borrowed(encoded)))
            };
            let written = encoders.encode(&bytes, write).map_err(|error| wrong(error.to_string()));
            return Ok(Some((key.as_str().to_owned(), written??)));
        }
        // Encode on this thread only: the caller has threads of its own.
        let options = CodecOptions::default().with_concurrent_target(1);
        let encoded = on_a_core(|| {
            self.array.codecs().encode(
                ArrayBytes::new_flen(bytes),
                &self.sizes,
                self.array.data_type(),
                self.array.fill_value(),
                &options,
            )
        });
        let encoded = encoded.map_err(|error| wrong(error.to_string()))?;
        let written = self.objects().write(key.as_str(), Object::Bytes(encoded))?;
        Ok(Some((key.as_str().to_owned(), written)))
    }

    /// Stores an already encoded shard or chunk at the grid position `index`. Returns its key and size in bytes.
    ///
    /// # Errors
    /// [`Error`] if the encoded bytes cannot be read or written.
    pub fn write_encoded(
        &self,
        index: &[u64],
        encoded: Object<'_>,
    ) -> Result<(String, u64), Error> {
        let key = self.array.chunk_key(&self.index(index));
        let written = self.objects().write(key.as_str(), encoded)?;
        Ok((key.as_str().to_owned(), written))
    }
}
