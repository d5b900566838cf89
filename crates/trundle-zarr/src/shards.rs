//! Finds chunks in shards, and caches shard indices.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use zarrs::array::{
    ArrayToBytesCodecTraits, BytesRepresentation, CodecChain, CodecOptions, FillValue, data_type,
};
use zarrs::metadata::v3::MetadataV3;

use crate::cores::{off_the_core, on_a_core};
use crate::error::Error;
use crate::object_store::ByteRange;
use crate::reader::Reader;

const MOST_SHARDS: usize = 4;

/// The offset and the length of a chunk that was never written.
const MISSING: u64 = u64::MAX;

/// The index of a shard.
#[derive(Debug)]
struct Index {
    /// The offset and the length of each chunk, in row-major order.
    entries: Box<[[u64; 2]]>,
    /// The version of the shard, see [`ObjectStore::read_version`](crate::object_store::ObjectStore::read_version).
    version: Option<String>,
}

/// The layout of the shards of an array, and the indices of the shards that were read last.
#[derive(Debug)]
pub(crate) struct Shards {
    pub(crate) inner: CodecChain,
    index: CodecChain,
    counts: Vec<u64>,
    index_part: ByteRange,
    /// Indices by key; `None` for a shard that was never written.
    kept: Mutex<VecDeque<(String, Option<Arc<Index>>)>>,
}

impl Shards {
    /// Reads the configuration of the codec `sharding_indexed`. `counts` are the chunks in a shard along each axis.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a codec is not supported, or the size of an index is not fixed.
    pub(crate) fn new(
        configuration: &serde_json::Map<String, Value>,
        counts: Vec<u64>,
    ) -> Result<Shards, Error> {
        let chain = |key: &str| {
            let value = configuration.get(key).cloned().unwrap_or_default();
            let codecs = serde_json::from_value::<Vec<MetadataV3>>(value);
            CodecChain::from_metadata(&codecs.map_err(Error::unsupported)?)
                .map_err(Error::unsupported)
        };
        let (inner, index) = (chain("codecs")?, chain("index_codecs")?);
        let shape = index_shape(&counts)?;
        let bytes = index
            .encoded_representation(&shape, &data_type::uint64(), &FillValue::from(MISSING))
            .map_err(Error::unsupported)?;
        let BytesRepresentation::FixedSize(bytes) = bytes else {
            return Err(Error::unsupported("indices of shards that are compressed"));
        };
        let is_at_start = configuration.get("index_location").is_some_and(|at| at == "start");
        let index_part =
            if is_at_start { ByteRange::Range(0, bytes) } else { ByteRange::Last(bytes) };
        Ok(Shards { inner, index, counts, index_part, kept: Mutex::default() })
    }

    /// Reads the encoded chunk at `index` from the shard at `key`; `None` if it was never written.
    ///
    /// # Errors
    /// Returns the reason if the chunk cannot be read, the shard has changed since its index was read, or the index points
    /// outside the shard.
    pub(crate) fn read(
        &self,
        reader: &Reader,
        key: &str,
        index: &[u64],
    ) -> Result<Option<Vec<u8>>, String> {
        let Some(shard) = self.index_of(reader, key)? else { return Ok(None) };
        let axes = index.iter().zip(&self.counts);
        let number = axes.fold(0, |number, (index, count)| number * count + index % count);
        match shard.entries.get(number as usize) {
            None => Err("has an index with too few entries".to_owned()),
            Some([MISSING, MISSING]) => Ok(None),
            Some(&[offset, bytes]) => {
                let mut version = shard.version.clone();
                let read = self.part(reader, key, ByteRange::Range(offset, bytes), &mut version)?;
                read.ok_or_else(|| "was removed while it was read".to_owned()).map(Some)
            }
        }
    }

    fn part(
        &self,
        reader: &Reader,
        key: &str,
        part: ByteRange,
        version: &mut Option<String>,
    ) -> Result<Option<Vec<u8>>, String> {
        off_the_core(|| reader.objects.read_version(key, part, reader.most(), version))
            .map_err(|error| error.to_string())
    }

    /// Returns the index of the shard at `key`; `None` if it was never written.
    fn index_of(&self, reader: &Reader, key: &str) -> Result<Option<Arc<Index>>, String> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, index)) = kept().iter().find(|(of, _)| of == key) {
            return Ok(index.clone());
        }
        let mut version = None;
        let index = match self.part(reader, key, self.index_part, &mut version)? {
            None => None,
            Some(encoded) => {
                let entries = on_a_core(|| self.decoded(encoded))?;
                Some(Arc::new(Index { entries, version }))
            }
        };
        let mut kept = kept();
        kept.push_back((key.to_owned(), index.clone()));
        if kept.len() > MOST_SHARDS {
            kept.pop_front();
        }
        Ok(index)
    }

    fn decoded(&self, encoded: Vec<u8>) -> Result<Box<[[u64; 2]]>, String> {
        let shape = index_shape(&self.counts).map_err(|error| error.to_string())?;
        let options = CodecOptions::default().with_concurrent_target(1);
        let (dtype, fill) = (data_type::uint64(), FillValue::from(MISSING));
        let decoded = self.index.decode(encoded.into(), &shape, &dtype, &fill, &options);
        let decoded = decoded.and_then(|decoded| Ok(decoded.into_fixed()?));
        let decoded = decoded.map_err(|error| format!("its index: {error}"))?;
        let (numbers, _) = decoded.as_chunks();
        let (entries, _) = numbers.as_chunks();
        Ok(entries.iter().map(|entry: &[[u8; 8]; 2]| entry.map(u64::from_ne_bytes)).collect())
    }
}

/// Returns the shape of a shard index: the chunks along each axis, then 2 for offset and length.
fn index_shape(counts: &[u64]) -> Result<Vec<NonZeroU64>, Error> {
    let sizes = counts.iter().chain(&[2]).map(|size| NonZeroU64::try_from(*size));
    sizes.collect::<Result<_, _>>().map_err(Error::unsupported)
}
