//! Converts attributes of arrays and groups between JSON and strings.
//!
//! The JSON is as Python writes it, see [`trundle_json`]. With attributes from HDF5, it has an entry [`TYPED_KEY`],
//! which only a new HDF5 file needs.

#[cfg(any(feature = "hdf5", feature = "zarr"))]
use std::collections::BTreeMap;

use serde_json::Value;

#[cfg(feature = "hdf5")]
pub use trundle_hdf5::TYPED_KEY;

type Attributes = serde_json::Map<String, Value>;

/// The key of an entry that only files of HDF5 have.
#[cfg(not(feature = "hdf5"))]
pub const TYPED_KEY: &str = "\0hdf5";

/// Converts attributes to pairs of strings, for other formats. Strings that could be parsed as JSON, and all other
/// values, become JSON.
#[cfg(any(feature = "hdf5", feature = "tiff", feature = "zarr"))]
pub(crate) fn to_metadata(attributes: Attributes) -> Vec<(String, String)> {
    let text = |value: Value| match value {
        Value::String(text) if is_plain(&text) => text,
        other => trundle_json::to_text(&other),
    };
    attributes.into_iter().map(|(key, value)| (key, text(value))).collect()
}

/// Returns whether a string is unchanged in a pair of strings: it is neither JSON nor a number that JSON lacks.
#[cfg(any(feature = "hdf5", feature = "tiff", feature = "zarr"))]
fn is_plain(text: &str) -> bool {
    !text.starts_with('\0') && value_of(text) == *text
}

/// Converts attributes to pairs of strings, for a format without objects. A string that contains a JSON object is
/// unchanged; [`of_metadata_without_objects`] reads it.
#[cfg(feature = "hdf5")]
pub(crate) fn to_metadata_without_objects(attributes: Attributes) -> Vec<(String, String)> {
    let pairs = attributes.into_iter().flat_map(|(key, value)| match value {
        Value::String(text) if object(&text).is_some() => vec![(key, text)],
        other => to_metadata(Attributes::from_iter([(key, other)])),
    });
    pairs.collect()
}

/// Reads the pairs of [`to_metadata_without_objects`].
#[cfg(feature = "hdf5")]
pub(crate) fn of_metadata_without_objects(metadata: &[(String, String)]) -> Attributes {
    let mut attributes = of_metadata(metadata);
    let texts = metadata.iter().filter(|(key, text)| key != TYPED_KEY && object(text).is_some());
    for (key, text) in texts {
        attributes.insert(key.clone(), Value::String(text.clone()));
    }
    attributes
}

/// Parses a JSON object; `None` if the text is not an object.
pub(crate) fn object(text: &str) -> Option<Attributes> {
    let is_one = text.trim_start().starts_with('{');
    match is_one.then(|| trundle_json::parse(text.as_bytes()))? {
        Ok(Value::Object(attributes)) => Some(attributes),
        _ => None,
    }
}

/// Adds the attributes of groups to the metadata of a file. The key of a group is its path and a slash.
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) fn with_groups(
    of_root: Vec<(String, String)>,
    groups: &BTreeMap<String, Attributes>,
) -> Vec<(String, String)> {
    let groups = groups.iter().filter(|(path, _)| !path.is_empty());
    let groups = groups.map(|(path, own)| (format!("{path}/"), to_text(own)));
    of_root.into_iter().chain(groups).collect()
}

/// Splits metadata into attributes of groups, by path, and pairs of the root. A key names a group if `is_path` accepts
/// its path, and no tensor is at or above that path.
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) fn split_groups(
    metadata: &[(String, String)],
    tensors: &[&str],
    is_path: impl Fn(&str) -> bool,
) -> (BTreeMap<String, Attributes>, Vec<(String, String)>) {
    let (mut groups, mut of_root) = (BTreeMap::new(), Vec::new());
    for (key, text) in metadata {
        let path = key.strip_suffix('/').filter(|path| is_path(path));
        let is_within = |tensor: &&str| key.starts_with(&format!("{tensor}/"));
        let path = path.filter(|_| !tensors.iter().any(is_within));
        match path.zip(object(text)) {
            Some((path, attributes)) => drop(groups.insert(path.to_owned(), attributes)),
            None => of_root.push((key.clone(), text.clone())),
        }
    }
    (groups, of_root)
}

/// Reads the pairs of [`to_metadata`].
pub(crate) fn of_metadata(metadata: &[(String, String)]) -> Attributes {
    metadata.iter().map(|(key, text)| (key.clone(), value_of(text))).collect()
}

/// Parses JSON. Other texts are strings, and so are numbers that would be written differently, such as `1e5` or
/// `7e12345`: they can be names or versions.
fn value_of(text: &str) -> Value {
    let is_unchanged = |value: &Value| {
        trundle_json::float(value).is_none() || trundle_json::to_text(value) == text
    };
    let value = trundle_json::parse(text.as_bytes()).ok().filter(is_unchanged);
    value.unwrap_or_else(|| trundle_json::of_string(text))
}

/// Formats attributes as a JSON object, or as an empty string if there are none.
#[cfg(any(feature = "hdf5", feature = "tiff", feature = "zarr"))]
pub(crate) fn to_text(attributes: &Attributes) -> String {
    if attributes.is_empty() {
        return String::new();
    }
    trundle_json::to_text(&Value::Object(attributes.clone()))
}

/// Parses attributes from a JSON object; none if the text is not an object.
pub(crate) fn of_text(text: &str) -> Attributes {
    let mut attributes = object(text).unwrap_or_default();
    attributes.shift_remove(TYPED_KEY);
    attributes
}

/// Parses attributes. Those that only HDF5 can represent are as a file stores them.
pub(crate) fn with_typed(text: &str) -> Attributes {
    let mut attributes = object(text).unwrap_or_default();
    if let Some(Value::Object(typed)) = attributes.shift_remove(TYPED_KEY) {
        for (name, entry) in typed {
            attributes.entry(name).or_insert(entry);
        }
    }
    attributes
}

/// Returns the names of attributes that only HDF5 can represent.
pub(crate) fn only_in_hdf5(attributes: &Attributes) -> impl Iterator<Item = &String> {
    let typed = attributes.get(TYPED_KEY).and_then(Value::as_object);
    let names = typed.into_iter().flat_map(serde_json::Map::keys);
    names.filter(|name| !attributes.contains_key(*name))
}

/// Returns the attributes of a file's groups that only HDF5 can represent, by their paths.
pub fn of_groups_only_in_hdf5(metadata: &[(String, String)]) -> Vec<String> {
    let of_group = |(key, text): &(String, String)| match key.ends_with('/') {
        true => {
            let own = object(text).unwrap_or_default();
            only_in_hdf5(&own).map(|name| format!("{key}{name}")).collect()
        }
        false => Vec::new(),
    };
    let of_root = of_metadata(metadata);
    only_in_hdf5(&of_root).cloned().chain(metadata.iter().flat_map(of_group)).collect()
}

/// Returns the metadata of a file for a format other than HDF5.
pub(crate) fn without_typed(metadata: &[(String, String)]) -> Vec<(String, String)> {
    let pairs = metadata.iter().filter(|(key, _)| key != TYPED_KEY);
    let pair = |(key, text): &(String, String)| {
        let own = Some(text).filter(|text| key.ends_with('/') && text.contains(&TYPED_KEY[1..]));
        let text = own.and_then(|text| object(text)).map_or(text.clone(), |mut own| {
            own.shift_remove(TYPED_KEY);
            trundle_json::to_text(&own.into())
        });
        (key.clone(), text)
    };
    pairs.map(pair).collect()
}

#[cfg(all(test, any(feature = "hdf5", feature = "zarr")))]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_back_from_pairs_and_from_text() {
        let all = serde_json::json!({
            "title": "wind at 10 m", "empty": "", "number": 5, "text of a number": "5", "null": null,
            "text of a word": "null", "list": [1, "two", {"three": 3.5}], "quoted": "\"x\"",
            "nan": "\0NaN", "list of nan": [1, "\0-Infinity"], "text of nan": "NaN", "nul": "\0\0NaN",
        });
        let Value::Object(all) = all else { panic!("an object") };
        let pairs = to_metadata(all.clone());
        for (key, text) in [("title", "wind at 10 m"), ("nan", "NaN"), ("text of nan", "\"NaN\"")] {
            assert!(pairs.contains(&(key.to_owned(), text.to_owned())), "{pairs:?}");
        }
        assert_eq!(of_metadata(&pairs), all);
        assert_eq!(of_text(&to_text(&all)), all);
        assert_eq!(of_text(&to_text(&Attributes::new())), Attributes::new());
    }

    #[test]
    fn texts_that_look_like_other_numbers_are_strings() {
        for text in ["7e12345", "-7e12345", "1e5", "7E12", "1.50", "-0", "0.1000000000000000055"] {
            let pairs = [("\0NaN".to_owned(), text.to_owned())];
            let attributes = of_metadata(&pairs);
            assert_eq!(attributes["\0NaN"], text);
            assert_eq!(to_metadata(attributes.clone()), pairs);
            assert_eq!(of_text(&to_text(&attributes)), attributes);
        }
        for (text, value) in [
            ("5", serde_json::json!(5)),
            ("-0.5", serde_json::json!(-0.5)),
            ("1e+300", serde_json::json!(1e300)),
            ("-Infinity", trundle_json::of_float(f64::NEG_INFINITY)),
        ] {
            assert_eq!(value_of(text), value);
        }
    }

    #[cfg(feature = "hdf5")]
    #[test]
    fn object_texts_are_unchanged_in_formats_without_objects() {
        let all = serde_json::json!({
            "config": "{\"a\" : 1.0}", "number": 5, "text of a number": "5", "brace": "{", "list": [1, 2],
        });
        let Value::Object(all) = all else { panic!("an object") };
        let pairs = to_metadata_without_objects(all.clone());
        assert!(pairs.contains(&("config".to_owned(), "{\"a\" : 1.0}".to_owned())), "{pairs:?}");
        assert_eq!(of_metadata_without_objects(&pairs), all);
    }
}
