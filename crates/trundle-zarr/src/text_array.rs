//! Arrays of strings of variable length.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::codec::api::BytesToBytesCodecTraits;
use zarrs::array::{BytesRepresentation, CodecOptions};

use crate::array::{bytes_of_chunk, codec, take_axis_names};
use crate::bounded::TOO_MANY;
use crate::error::Error;
use crate::metadata::{self, Attributes};
use crate::new_array::{NewArray, codec_of_bytes};
use crate::object_store::{ByteRange, Object};
use crate::undecoded_array::UndecodedArray;

/// The element type, and the codec of its elements: their number, and for each its length and its bytes.
const STRING: (&str, &str) = ("string", "vlen-utf8");

/// The bytes of a number of elements, and of a length.
const LENGTH_BYTES: usize = 4;

/// The most bytes that codecs add to a chunk that does not compress, including its checksum.
const MOST_ADDED_BYTES: u64 = 64 << 10;

/// An array of strings of variable length, which can also be copied without decoding.
#[derive(Clone, Debug)]
pub struct TextArray {
    /// The shape, the chunks and the metadata.
    pub array: UndecodedArray,
    /// The codecs after `vlen-utf8`, as metadata of version 3.
    pub codecs: Vec<Value>,
    /// The attributes, without axis names.
    pub attributes: Attributes,
    /// The fill value.
    pub fill: String,
    decoders: Vec<Arc<dyn BytesToBytesCodecTraits>>,
    /// The number of elements in a chunk.
    elements: usize,
}

impl TextArray {
    /// Returns the array if it consists of strings that can be decoded.
    ///
    /// # Errors
    /// [`Error`] if it has another type, or codecs that are not supported.
    pub fn of(array: &UndecodedArray) -> Result<TextArray, Error> {
        let document = trundle_json::parse(array.document.as_bytes());
        let mut document = document.map_err(Error::unsupported)?;
        metadata::check_codecs(&document["codecs"])?;
        let read = serde_json::from_value::<Vec<_>>(document["codecs"].take());
        let codecs: Vec<Value> = read.map_err(Error::unsupported)?.iter().map(codec).collect();
        let (first, codecs) = codecs.split_first().unwrap_or((&Value::Null, &[]));
        if (&*array.dtype, &first["name"]) != (STRING.0, &json!(STRING.1)) {
            let place = match first["name"].as_str() {
                Some("sharding_indexed") => "in shards",
                Some("transpose") => "in another order of axes",
                _ => "with other codecs",
            };
            return Err(Error::Unsupported(format!("strings of variable length {place}")));
        }
        let decoders = codecs.iter().map(codec_of_bytes).collect::<Result<_, _>>()?;
        let elements = bytes_of_chunk(&array.chunk, size_of::<u64>())? as usize / size_of::<u64>();
        let mut attributes = match document["attributes"].take() {
            Value::Object(attributes) => attributes,
            _ => Attributes::new(),
        };
        if document["dimension_names"].is_null() {
            take_axis_names(&mut attributes, array.shape.len());
        }
        // A string may stand for a number that a value cannot hold.
        let fill = &document["fill_value"];
        let text = fill.as_str().filter(|_| trundle_json::float(fill).is_none());
        let wrong = || Error::Unsupported(format!("a fill value that is not a string: {fill}"));
        let fill = text.ok_or_else(wrong)?.to_owned();
        let (array, codecs) = (array.clone(), codecs.to_vec());
        Ok(TextArray { array, codecs, attributes, fill, decoders, elements })
    }

    /// Returns the `zarr.json` of a new array of strings. Its type and the bytes of its fill value are ignored.
    pub fn document(new: &NewArray, fill: &str) -> String {
        let codecs = std::iter::once(json!({ "name": STRING.1, "configuration": {} }));
        let chunk = &new.chunk;
        let mut document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": new.shape,
            "data_type": STRING.0,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": fill,
            "codecs": codecs.chain(new.codecs.iter().cloned()).collect::<Vec<Value>>(),
            "attributes": new.attributes,
        });
        if !new.dimension_names.is_empty() {
            document["dimension_names"] = json!(new.dimension_names);
        }
        trundle_json::to_pretty_text(&document)
    }

    /// Returns the number of elements in a chunk.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Reads the chunk at the grid position `index` without decoding it; `None` if it was never written. Its decoded size
    /// may be `most` bytes.
    ///
    /// # Errors
    /// [`Error`] if the chunk cannot be read, or is too long.
    pub fn stored(&self, index: &[u64], most: u64) -> Result<Option<Vec<u8>>, Error> {
        let key = self.array.key(index);
        let read = self.array.objects.read(&key, ByteRange::All, 2 * most + MOST_ADDED_BYTES);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.too_long(index, &error.to_string()),
            _ => Error::Chunk { key, why: error.to_string() },
        })
    }

    /// Returns the error for a chunk that exceeds the limit of the caller.
    fn too_long(&self, index: &[u64], why: &str) -> Error {
        Error::Chunk { key: self.array.key(index), why: format!("{why}: use a larger --max-mem") }
    }

    /// Decodes the stored chunk at the grid position `index`, and passes its strings to `each`. The strings and their
    /// lengths may have `most` bytes.
    ///
    /// # Errors
    /// [`Error`] if the chunk cannot be decoded, or has more bytes. Also the errors of `each`.
    pub fn decode<E: From<Error>>(
        &self,
        index: &[u64],
        mut bytes: Vec<u8>,
        most: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let wrong = |why: String| Error::Chunk { key: self.array.key(index), why };
        let options = CodecOptions::default().with_concurrent_target(1);
        for decoder in self.decoders.iter().rev() {
            let size = BytesRepresentation::BoundedSize(most + MOST_ADDED_BYTES);
            let decode = || decoder.decode(bytes.into(), &size, &options);
            let decoded = catch_unwind(AssertUnwindSafe(decode))
                .map_err(|_| wrong("is inconsistent and cannot be decoded".to_owned()))?;
            let decoded = decoded.map_err(|error| match error.to_string() {
                why if why.starts_with(TOO_MANY) => self.too_long(index, &why),
                why => wrong(why),
            });
            bytes = decoded?.into_owned();
        }
        let ends = || wrong("ends within a string".to_owned());
        let (count, mut rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(ends)?;
        let count = u32::from_le_bytes(*count) as usize;
        if count != self.elements {
            return Err(wrong(format!("has {count} strings, not {}", self.elements)).into());
        }
        for _ in 0..count {
            let (length, after) = rest.split_first_chunk::<LENGTH_BYTES>().ok_or_else(ends)?;
            let length = u32::from_le_bytes(*length) as usize;
            let (text, after) = after.split_at_checked(length).ok_or_else(ends)?;
            (rest, _) = (after, each(text)?);
        }
        match rest.len() {
            0 => Ok(()),
            more => Err(wrong(format!("has {more} bytes after its strings")).into()),
        }
    }

    /// Joins the strings of the chunk at the grid position `index`, as `vlen-utf8` does.
    ///
    /// # Errors
    /// [`Error`] if a string is not valid UTF-8, or the strings are too long for a chunk.
    pub fn joined(&self, index: &[u64], texts: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let wrong = |why: String| Error::Chunk { key: self.array.key(index), why };
        let length = |bytes: usize| {
            let length = u32::try_from(bytes).map(u32::to_le_bytes);
            length.map_err(|_| wrong(format!("{bytes} are too many for a chunk of strings")))
        };
        let mut bytes = length(texts.len())?.to_vec();
        for text in texts {
            if let Err(error) = std::str::from_utf8(text) {
                let text = String::from_utf8_lossy(text);
                return Err(wrong(format!("the string {text:?} is not valid UTF-8: {error}")));
            }
            bytes.extend(length(text.len())?);
            bytes.extend(*text);
        }
        Ok(bytes)
    }

    /// Encodes the [joined](TextArray::joined) strings of the chunk at the grid position `index`, and stores the chunk.
    /// Returns its key and its encoded size in bytes.
    ///
    /// # Errors
    /// [`Error`] if the chunk cannot be encoded or written.
    pub fn write_chunk(&self, index: &[u64], mut bytes: Vec<u8>) -> Result<(String, u64), Error> {
        let options = CodecOptions::default().with_concurrent_target(1);
        for encoder in &self.decoders {
            let encoded = encoder.encode(bytes.into(), &options);
            let encoded = encoded.map_err(|error| {
                let (key, why) = (self.array.key(index), error.to_string());
                Error::Chunk { key, why }
            });
            bytes = encoded?.into_owned();
        }
        Ok(self.array.write_encoded(index, Object::Bytes(bytes.into()))?)
    }
}
