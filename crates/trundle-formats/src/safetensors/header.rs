//! Parses the header of .safetensors, and preserves its order.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::METADATA;
use crate::names::check_unique;

pub(crate) struct FileHeader {
    pub metadata: Vec<(String, String)>,
    pub tensors: Vec<(String, TensorHeader)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TensorHeader {
    pub dtype: String,
    pub shape: Vec<u64>,
    /// The start and the end of the data, in bytes from the end of the header.
    pub data_offsets: [u64; 2],
}

impl FileHeader {
    /// Parses a header, which may end with white space.
    ///
    /// # Errors
    /// If the header is not JSON of this form, or a key occurs twice.
    pub(crate) fn parse(text: &[u8]) -> serde_json::Result<FileHeader> {
        let header: FileHeader = serde_json::from_slice(text)?;
        let twice = |key| serde_json::Error::custom(format!("\"{key}\" occurs twice"));
        check_unique(header.tensors.iter().map(|(name, _)| &name[..])).map_err(twice)?;
        check_unique(header.metadata.iter().map(|(key, _)| &key[..])).map_err(twice)?;
        Ok(header)
    }
}

impl<'de> Deserialize<'de> for FileHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FileHeader, D::Error> {
        deserializer.deserialize_map(FileHeaderVisitor)
    }
}

struct FileHeaderVisitor;

impl<'de> Visitor<'de> for FileHeaderVisitor {
    type Value = FileHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FileHeader, A::Error> {
        let mut metadata = None;
        let mut tensors = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key != METADATA {
                tensors.push((key, map.next_value()?));
            } else if metadata.replace(map.next_value::<Option<Pairs>>()?).is_some() {
                return Err(A::Error::custom(format!("\"{METADATA}\" occurs twice")));
            }
        }
        let Pairs(metadata) = metadata.flatten().unwrap_or_default();
        Ok(FileHeader { metadata, tensors })
    }
}

/// The keys and values of a JSON object of strings, in order.
#[derive(Default)]
pub(crate) struct Pairs(pub(crate) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}
