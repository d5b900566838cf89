//! Arrays that are copied without decoding, because their elements cannot be decoded.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::ChunkKeyEncoding;
use zarrs::metadata::v3::MetadataV3;

use crate::array::{MOST_AXES, ZarrArray, axis_names, named_axes, take_axis_names};
use crate::error::Error;
use crate::metadata::{self, MOST_METADATA_BYTES, V3};
use crate::object_store::{ByteRange, Object, ObjectStore, Stat, key_of};
use crate::opaque::name_of;

/// An array that trundle cannot decode. Its metadata and its chunks can be copied to another store.
#[derive(Clone, Debug)]
pub struct UndecodedArray {
    /// The path below the root, without a leading or trailing slash.
    pub path: String,
    /// The size of each axis in elements.
    pub shape: Vec<u64>,
    /// The sizes in elements of a shard, or of a chunk if the array is not sharded; each at least 1.
    pub chunk: Vec<u64>,
    /// The name of the element type in the metadata.
    pub dtype: String,
    /// The axis names; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// The `zarr.json` of the array.
    pub document: String,
    /// Whether xarray takes elements with the fill value as missing, which `document` does not say.
    pub loses_mask: bool,
    keys: ChunkKeyEncoding,
    pub(crate) objects: Arc<dyn ObjectStore>,
}

/// The types of variable length of version 2: the codec, which is the same in both versions, and the type in version 3.
const TYPES_OF_V2: [(&str, &str); 2] =
    [("vlen-utf8", "string"), ("vlen-bytes", "variable_length_bytes")];

impl UndecodedArray {
    /// Returns an array that can be decoded, for copying it as it is stored.
    ///
    /// # Errors
    /// [`Error`] if the metadata does not list the chunks, or has no equivalent in version 3.
    pub fn of(array: &ZarrArray) -> Result<UndecodedArray, Error> {
        let (objects, path) = array.in_store();
        UndecodedArray::open(&objects, path)
    }

    /// Reads the array at a path. Its `zarr.json` is kept byte by byte; the metadata of version 2 is converted.
    ///
    /// # Errors
    /// [`Error`] if the metadata cannot be read, does not list the chunks, or has no equivalent in version 3.
    pub fn open(objects: &Arc<dyn ObjectStore>, path: &str) -> Result<UndecodedArray, Error> {
        let key = key_of(path, V3);
        let Some(bytes) = objects.read(&key, ByteRange::All, MOST_METADATA_BYTES)? else {
            let (document, loses_mask) = of_v2(&**objects, path)?;
            return Ok(UndecodedArray {
                loses_mask,
                ..UndecodedArray::new(objects, path, document)?
            });
        };
        let document = String::from_utf8(bytes).map_err(Error::unsupported)?;
        UndecodedArray::new(objects, path, document)
    }

    /// Returns the array with this `zarr.json` at a path. Nothing is read or written.
    ///
    /// # Errors
    /// [`Error`] if the document does not list the chunks: if they are not in a regular grid, or have unknown keys.
    pub fn new(
        objects: &Arc<dyn ObjectStore>,
        path: &str,
        document: String,
    ) -> Result<UndecodedArray, Error> {
        let mut metadata = trundle_json::parse(document.as_bytes()).map_err(Error::unsupported)?;
        metadata::check_fields(&metadata)?;
        let wrong = |field: &str| Error::Unsupported(format!("{V3}: {field} is not supported"));
        let shape = sizes(&metadata["shape"]).ok_or_else(|| wrong("shape"))?;
        let grid = &metadata["chunk_grid"];
        let is_fit = |chunk: &Vec<u64>| chunk.len() == shape.len() && !chunk.contains(&0);
        let chunk = Some(grid).filter(|grid| grid["name"] == "regular");
        let chunk = chunk.and_then(|grid| sizes(&grid["configuration"]["chunk_shape"]));
        let chunk = chunk.filter(is_fit).ok_or_else(|| wrong("chunk_grid"))?;
        if metadata["storage_transformers"].as_array().is_some_and(|all| !all.is_empty()) {
            return Err(wrong("storage_transformers"));
        }
        let keys = &metadata["chunk_key_encoding"];
        // Other encodings could name objects outside of the array.
        let is_known = ["default", "v2"].iter().any(|name| name_of(keys) == Some(name));
        let keys = serde_json::from_value::<MetadataV3>(keys.clone()).ok().filter(|_| is_known);
        let keys = keys.and_then(|keys| ChunkKeyEncoding::from_metadata(&keys).ok());
        let keys = keys.ok_or_else(|| wrong("chunk_key_encoding"))?;
        let dtype = name_of(&metadata["data_type"]).ok_or_else(|| wrong("data_type"))?.to_owned();
        let names = metadata["dimension_names"].take();
        let names = match metadata["attributes"].as_object_mut() {
            Some(attributes) if names.is_null() => take_axis_names(attributes, shape.len()),
            None if names.is_null() => None,
            _ => {
                let names = axis_names(&names, shape.len());
                Some(names.ok_or_else(|| wrong("dimension_names"))?)
            }
        };
        let dimension_names = named_axes(names.unwrap_or_default());
        let (path, objects) = (path.to_owned(), Arc::clone(objects));
        Ok(UndecodedArray {
            path,
            shape,
            chunk,
            dtype,
            dimension_names,
            document,
            loses_mask: false,
            keys,
            objects,
        })
    }

    /// Writes the metadata.
    ///
    /// # Errors
    /// [`Error`] if it cannot be written.
    pub fn create(&self) -> Result<(), Error> {
        let document = Object::Bytes(self.document.as_bytes().into());
        self.objects.write(&key_of(&self.path, V3), document)?;
        Ok(())
    }

    /// Opens the stored shard or chunk at the grid position `index`; `None` if it was never written.
    ///
    /// # Errors
    /// If the object cannot be opened.
    pub fn encoded(&self, index: &[u64]) -> io::Result<Option<Object<'static>>> {
        self.objects.object(&self.key(index), u64::MAX)
    }

    /// Stores the shard or chunk at the grid position `index`. Returns its key and size in bytes.
    ///
    /// # Errors
    /// If the object cannot be read or written.
    pub fn write_encoded(&self, index: &[u64], encoded: Object<'_>) -> io::Result<(String, u64)> {
        let key = self.key(index);
        let bytes = self.objects.write(&key, encoded)?;
        Ok((key, bytes))
    }

    /// Returns the size and the time of the object at `index`; `None` if it does not exist.
    ///
    /// # Errors
    /// If the store cannot be queried, or the chunk is not a regular object.
    pub fn stat(&self, index: &[u64]) -> io::Result<Option<Stat>> {
        self.objects.stat(&self.key(index))
    }

    /// Returns whether requests to the store go through a network.
    pub fn is_remote(&self) -> bool {
        self.objects.is_remote()
    }

    pub(crate) fn key(&self, index: &[u64]) -> String {
        key_of(&self.path, self.keys.encode(index).as_str())
    }
}

/// Converts the metadata of an array of version 2 to a `zarr.json`, and returns [`UndecodedArray::loses_mask`] with it.
/// The encoded chunks are the same in both versions.
fn of_v2(objects: &dyn ObjectStore, path: &str) -> Result<(String, bool), Error> {
    let mut document = metadata::read_v2(objects, path)?;
    let codec = document["filters"].as_array().filter(|filters| filters.len() == 1);
    let codec = codec.and_then(|filters| filters[0]["id"].as_str());
    let known = TYPES_OF_V2.into_iter().find(|(own, _)| codec == Some(own));
    let Some((codec, dtype)) = known.filter(|_| document["dtype"] == "|O") else {
        return Err(Error::unsupported("has no equivalent in version 3"));
    };
    // zarrs converts the compressor of bytes, but not the compressor of elements of variable length.
    let fill = document["fill_value"].take();
    (document["dtype"], document["fill_value"]) = (json!("|u1"), json!(0));
    document["filters"] = Value::Null;
    let read = metadata::of_v2(document)?;
    let mut document = serde_json::to_value(read.metadata).map_err(Error::unsupported)?;
    let codecs = document["codecs"].as_array_mut().into_iter().flatten();
    for own in codecs {
        if own["name"] == "bytes" {
            *own = json!({ "name": codec });
        } else if own["configuration"].is_null() {
            // zarr-python requires it.
            own["configuration"] = json!({});
        }
    }
    document["data_type"] = dtype.into();
    // A string may stand for a number that a value cannot hold.
    let number = fill.as_i64().filter(|_| dtype == "string").map(|number| number.to_string());
    let fill = fill.as_str().filter(|_| trundle_json::float(&fill).is_none());
    // zarr-python reads a number as its digits.
    document["fill_value"] = fill.or(number.as_deref()).unwrap_or_default().into();
    let rank = document["shape"].as_array().map_or(0, Vec::len);
    let attributes = document["attributes"].as_object_mut();
    let names = attributes.and_then(|attributes| take_axis_names(attributes, rank));
    // xarray cannot open strings of version 3 with the attribute `_FillValue`.
    let loses_mask = names.is_some() && fill.is_some();
    if let Some(names) = names {
        document["dimension_names"] = json!(names);
    }
    Ok((trundle_json::to_pretty_text(&document), loses_mask))
}

fn sizes(list: &Value) -> Option<Vec<u64>> {
    let sizes: Vec<u64> = list.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    (sizes.len() <= MOST_AXES).then_some(sizes)
}
