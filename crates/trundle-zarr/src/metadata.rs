//! Reads the metadata of arrays, and converts it to the forms that zarrs knows.
//!
//! zarrs refuses some metadata that zarr-python writes, and some of its error messages contain Rust types. This module
//! converts forms of version 2 that zarrs does not know, and checks the configurations of codecs. Unknown fields of a
//! `zarr.json` are refused unless they say `"must_understand": false`. Unknown fields of a `.zarray` are ignored, as
//! version 2 requires.

use serde_json::{Number, Value, json};
use zarrs::array::codec::api::Codec;
use zarrs::convert::{ArrayMetadataV2ToV3Error, array_metadata_v2_to_v3};
use zarrs::metadata::v2::MetadataV2;
use zarrs::metadata::v3::{ArrayMetadataV3, MetadataV3};

use crate::error::Error;
use crate::filters::{self, Filters};
use crate::object_store::{ByteRange, ObjectStore, key_of};
use crate::opaque::{Opaque, name_of};
use crate::times;

pub(crate) const V3: &str = "zarr.json";
pub(crate) const V2_ARRAY: &str = ".zarray";
pub(crate) const V2_GROUP: &str = ".zgroup";
pub(crate) const V2_ATTRIBUTES: &str = ".zattrs";

/// The fields that a `zarr.json` may have. `consolidated_metadata`, which may be older than the arrays, is ignored.
const FIELDS: &str = "\
    zarr_format node_type attributes consolidated_metadata shape data_type chunk_grid \
    chunk_key_encoding fill_value codecs storage_transformers dimension_names";

/// The largest metadata object that is read, in bytes.
pub(crate) const MOST_METADATA_BYTES: u64 = 16 << 20;

/// The attributes of an array or a group: JSON values by name.
pub type Attributes = serde_json::Map<String, Value>;

/// The fields of a `zarr.json` or `.zarray` that may be null, which means that they are missing.
const OPTIONAL: [&str; 2] = ["attributes", "storage_transformers"];

const LIMITS: [(&str, &str, i64, i64); 7] = [
    ("zstd", "level", -131_072, 22),
    ("gzip", "level", 0, 9),
    ("zlib", "level", 0, 9),
    ("bz2", "level", 1, 9),
    ("blosc", "clevel", 0, 9),
    ("blosc", "typesize", 0, 255),
    ("blosc", "blocksize", 0, (1 << 31) - 1),
];

/// Reads the metadata object `name` at a path; `None` if it does not exist.
///
/// # Errors
/// [`Error`] if the object cannot be read or is not JSON.
pub(crate) fn read(
    objects: &dyn ObjectStore,
    path: &str,
    name: &str,
) -> Result<Option<Value>, Error> {
    match objects.read(&key_of(path, name), ByteRange::All, MOST_METADATA_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(wrong(name, error)),
        Err(error) => Err(error.into()),
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => {
            trundle_json::parse(&bytes).map(Some).map_err(|error| wrong(name, error))
        }
    }
}

/// Checks that a `zarr.json` has only fields of the specification.
///
/// # Errors
/// [`Error::Unsupported`] for another field that must be understood.
pub(crate) fn check_fields(document: &Value) -> Result<(), Error> {
    if document["zarr_format"] != 3 {
        let format = &document["zarr_format"];
        return Err(Error::Unsupported(format!("{V3}: zarr_format is {format}, expected 3")));
    }
    let fields = document.as_object().into_iter().flatten();
    let is_known = |name: &str| FIELDS.split(' ').any(|known| known == name);
    for (name, value) in fields.filter(|(name, _)| !is_known(name)) {
        if value.get("must_understand") != Some(&Value::Bool(false)) {
            return Err(Error::Unsupported(format!(
                "{V3}: the field \"{name}\" is not understood"
            )));
        }
    }
    Ok(())
}

/// The metadata of an array.
#[derive(Debug)]
pub(crate) struct ReadMetadata {
    /// The metadata in the form of version 3, which zarrs reads.
    pub(crate) metadata: ArrayMetadataV3,
    /// The element type, if zarrs sees raw bytes instead.
    pub(crate) opaque: Option<Opaque>,
    /// The filters that `metadata` lacks.
    pub(crate) filters: Filters,
    /// The stored metadata as compact JSON.
    pub(crate) text: String,
}

/// Reads the metadata of the array at a path.
///
/// # Errors
/// [`Error`] if the metadata cannot be read or is not supported.
pub(crate) fn of_array(objects: &dyn ObjectStore, path: &str) -> Result<ReadMetadata, Error> {
    match read(objects, path, V3)? {
        Some(document) => of_v3(document),
        None => of_v2(read_v2(objects, path)?),
    }
}

/// Reads the metadata of an array of version 2, with its attributes.
///
/// # Errors
/// [`Error`] if the metadata cannot be read, or does not describe an array.
pub(crate) fn read_v2(objects: &dyn ObjectStore, path: &str) -> Result<Value, Error> {
    let document = read(objects, path, V2_ARRAY)?.filter(Value::is_object);
    let mut document = document.ok_or_else(|| Error::unsupported("is not an array"))?;
    if let Some(attributes) = read(objects, path, V2_ATTRIBUTES)? {
        document["attributes"] = attributes;
    }
    Ok(document)
}

/// Renames numcodecs' `crc32c`, which is the codec of version 3 if the checksum follows the bytes.
fn rename_crc32c(codecs: &mut Value) {
    for codec in codecs.as_array_mut().into_iter().flatten() {
        let location = &codec["configuration"]["location"];
        if codec["name"] == "numcodecs.crc32c" && (location.is_null() || location == "end") {
            *codec = json!({ "name": "crc32c" });
        } else if let Some(codecs) = codecs_of_shard(codec) {
            rename_crc32c(codecs);
        }
    }
}

/// Changes the forms of a document that zarr-python reads and zarrs refuses: fields that are null, and fill values that
/// JSON lacks.
fn as_zarrs_reads(document: &mut Value) {
    let Some(fields) = document.as_object_mut() else { return };
    fields.retain(|name, value| !(value.is_null() && OPTIONAL.contains(&&name[..])));
    if let Some(fill) = fields.get_mut("fill_value") {
        with_names_of_numbers(fill);
    }
}

/// Replaces numbers that JSON lacks by their names, such as `"NaN"`, which Zarr has for fill values.
fn with_names_of_numbers(fill: &mut Value) {
    match fill {
        Value::String(text) if text.starts_with('\0') => drop(text.remove(0)),
        Value::Array(parts) => parts.iter_mut().for_each(with_names_of_numbers),
        Value::Object(fields) => fields.values_mut().for_each(with_names_of_numbers),
        _ => {}
    }
}

fn of_v3(mut document: Value) -> Result<ReadMetadata, Error> {
    let text = document.to_string();
    as_zarrs_reads(&mut document);
    without_empty_transposes(&mut document["codecs"]);
    let dtype = filters::numpy_name(&document["data_type"]);
    let filters = Filters::take(&mut document["codecs"], &dtype);
    rename_crc32c(&mut document["codecs"]);
    check_codecs(&document["codecs"])?;
    let opaque = Opaque::of_v3(&document["data_type"], stores_big_endian(&document["codecs"]))?;
    if let Some(opaque) = &opaque {
        document["fill_value"] =
            opaque.fill_of_v3(&document["data_type"], &document["fill_value"])?;
        document["data_type"] = opaque.raw_name().into();
    }
    let metadata = serde_json::from_value(document).map_err(|error| wrong(V3, error))?;
    Ok(ReadMetadata { metadata, opaque, filters, text })
}

/// Returns whether the codec `bytes` stores big-endian numbers, also within shards.
fn stores_big_endian(codecs: &Value) -> bool {
    codecs.as_array().into_iter().flatten().any(|codec| match name_of(codec) {
        Some("bytes") => codec["configuration"]["endian"] == "big",
        Some("sharding_indexed") => stores_big_endian(&codec["configuration"]["codecs"]),
        _ => false,
    })
}

/// Converts the metadata of version 2 to the form of version 3.
///
/// # Errors
/// [`Error`] if the metadata is malformed or not supported.
pub(crate) fn of_v2(mut document: Value) -> Result<ReadMetadata, Error> {
    let text = document.to_string();
    if !document.is_object() {
        return Err(Error::Unsupported(format!("{V2_ARRAY}: is not an object")));
    }
    as_zarrs_reads(&mut document);
    let dtype = &document["dtype"];
    let opaque = Opaque::of_v2(dtype)?;
    if let Some(opaque) = &opaque {
        document["fill_value"] = opaque.fill_of_v2(&document["fill_value"])?;
        document["dtype"] = format!("|V{}", opaque.width).into();
    }
    let dtype = document["dtype"].as_str();
    let dtype = dtype.ok_or_else(|| wrong(V2_ARRAY, "dtype is neither a string nor a list"))?;
    // zarrs converts no times. They are stored as integers.
    let time = dtype.get(1..).and_then(|rest| times::metadata(&format!("<{rest}")));
    let dtype = if time.is_some() { format!("{}i8", &dtype[..1]) } else { dtype.to_owned() };
    if let Some(fill) = fill_of_v2(&dtype, &document["fill_value"]) {
        document["fill_value"] = fill;
    }
    // With fewer than two axes both orders are the same, and zarrs has no transpose of zero axes.
    if document["shape"].as_array().is_some_and(|shape| shape.len() < 2) && document["order"] == "F"
    {
        document["order"] = json!("C");
    }
    let taken = Filters::take(&mut document["filters"], &dtype);
    let filters = document["filters"].as_array().into_iter().flatten();
    for codec in filters.chain(Some(&document["compressor"]).filter(|codec| !codec.is_null())) {
        let name = codec["id"].as_str().ok_or_else(|| {
            wrong(V2_ARRAY, format!("a codec is {codec}, expected an object with an id"))
        })?;
        let read = serde_json::from_value::<MetadataV2>(codec.clone());
        // zarrs converts the configuration of Blosc, which differs in version 3.
        let is_understood =
            read.is_ok_and(|read| name == "blosc" || Codec::from_metadata(&read).is_ok());
        check_codec(name, codec, is_understood)?;
    }
    document["dtype"] = dtype.into();
    let document = serde_json::from_value(document).map_err(|error| wrong(V2_ARRAY, error))?;
    let mut metadata = array_metadata_v2_to_v3(&document).map_err(|error| match error {
        ArrayMetadataV2ToV3Error::UnsupportedDataType(dtype) => {
            Error::Unsupported(format!("elements of type {dtype} are not read"))
        }
        error => wrong(V2_ARRAY, error),
    })?;
    if let Some(time) = time {
        metadata.data_type = time;
    }
    if opaque.as_ref().is_some_and(Opaque::has_big_endian_parts) {
        let big = json!({ "name": "bytes", "configuration": { "endian": "big" } });
        let big: MetadataV3 = serde_json::from_value(big).map_err(Error::unsupported)?;
        let bytes = metadata.codecs.iter_mut().filter(|codec| codec.name() == "bytes");
        bytes.for_each(|codec| *codec = big.clone());
    }
    Ok(ReadMetadata { metadata, opaque, filters: taken, text })
}

/// Converts a fill value of version 2 to the form that zarrs expects; `None` to keep it.
///
/// null (undefined) becomes zero. Version 2 also allows numbers as strings, booleans, or integers written as floats.
fn fill_of_v2(dtype: &str, fill: &Value) -> Option<Value> {
    let number = match fill {
        Value::Null => Some(0.0),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    };
    match dtype.get(1..2)? {
        "b" => match number? {
            0.0 => Some(json!(false)),
            1.0 => Some(json!(true)),
            _ => None,
        },
        "i" | "u" => match fill {
            Value::String(text) => text.parse().ok().and_then(integer),
            Value::Number(number) if !number.is_f64() => None,
            // Below this limit, floats represent integers exactly.
            _ => number
                .filter(|number| number.fract() == 0.0 && number.abs() < 2f64.powi(53))
                .and_then(|number| integer(number as i128)),
        },
        "f" => number.map(Value::from),
        "c" => number.map(|number| json!([number, 0.0])),
        "U" => match fill {
            Value::String(text) => {
                let most = dtype.get(2..)?.parse().ok()?;
                Some(text.chars().take(most).collect::<String>().into())
            }
            _ => number.filter(|number| *number == 0.0).map(|_| json!("")),
        },
        _ => None,
    }
}

fn integer(number: i128) -> Option<Value> {
    Number::from_i128(number).map(Value::Number)
}

/// Removes transposes of zero axes, which zarrs refuses, also from the codecs of shards.
fn without_empty_transposes(codecs: &mut Value) {
    let Some(codecs) = codecs.as_array_mut() else { return };
    let is_empty = |codec: &Value| {
        codec["name"] == "transpose" && codec["configuration"]["order"] == json!([])
    };
    codecs.retain(|codec| !is_empty(codec));
    codecs.iter_mut().filter_map(codecs_of_shard).for_each(without_empty_transposes);
}

/// Returns the codecs of the chunks in a shard; `None` for other codecs, and for malformed ones.
pub(crate) fn codecs_of_shard(codec: &mut Value) -> Option<&mut Value> {
    match name_of(codec) {
        Some("sharding_indexed") => codec.get_mut("configuration")?.get_mut("codecs"),
        _ => None,
    }
}

/// Checks that codecs are known and have valid configurations, including those within shards.
pub(crate) fn check_codecs(codecs: &Value) -> Result<(), Error> {
    for codec in codecs.as_array().into_iter().flatten() {
        let read = serde_json::from_value::<MetadataV3>(codec.clone());
        let read = read.map_err(|_| {
            Error::Unsupported(format!("a codec is {codec}, expected an object with a name"))
        })?;
        let configuration = &codec["configuration"];
        if read.name() == "sharding_indexed" {
            check_codecs(&configuration["codecs"])?;
            check_codecs(&configuration["index_codecs"])?;
        }
        check_codec(read.name(), configuration, Codec::from_metadata(&read).is_ok())?;
    }
    Ok(())
}

fn check_codec(name: &str, configuration: &Value, is_understood: bool) -> Result<(), Error> {
    let wrong = |why: String| Err(Error::Unsupported(format!("the codec {name} {why}")));
    let bare = name.strip_prefix("numcodecs.").unwrap_or(name);
    for (_, key, least, most) in LIMITS.iter().filter(|(codec, ..)| *codec == bare) {
        let Some(number) = configuration.get(key).filter(|number| !number.is_null()) else {
            continue;
        };
        if !number.as_i64().is_some_and(|number| (*least..=*most).contains(&number)) {
            return wrong(format!("has the {key} {number}, expected {least} to {most}"));
        }
    }
    match is_understood {
        true => Ok(()),
        false if configuration.as_object().is_none_or(serde_json::Map::is_empty) => {
            wrong("is not read".to_owned())
        }
        false => wrong(format!("is not read with the configuration {configuration}")),
    }
}

fn wrong(name: &str, why: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!("{name}: {why}"))
}
