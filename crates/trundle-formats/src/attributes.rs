//! Converts attributes of arrays and groups between JSON and strings.

#[cfg(any(feature = "hdf5", feature = "zarr"))]
use std::collections::BTreeMap;

use serde_json::Value;

type Attributes = serde_json::Map<String, Value>;

/// Converts attributes to pairs of strings, for other formats. Strings that could be parsed as JSON, and all other
/// values, become JSON.
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) fn to_metadata(attributes: Attributes) -> Vec<(String, String)> {
    let text = |value: Value| match value {
        Value::String(text) if serde_json::from_str::<Value>(&text).is_err() => text,
        other => other.to_string(),
    };
    attributes.into_iter().map(|(key, value)| (key, text(value))).collect()
}

/// Converts attributes to pairs of strings, for a format without objects. A string that contains a JSON object is
/// unchanged; [`of_metadata_without_objects`] reads it.
#[cfg(feature = "hdf5")]
pub(crate) fn to_metadata_without_objects(attributes: Attributes) -> Vec<(String, String)> {
    let pairs = attributes.into_iter().flat_map(|(key, value)| match value {
        Value::String(text) if is_object(&text) => vec![(key, text)],
        other => to_metadata(Attributes::from_iter([(key, other)])),
    });
    pairs.collect()
}

/// Reads the pairs of [`to_metadata_without_objects`].
#[cfg(feature = "hdf5")]
pub(crate) fn of_metadata_without_objects(metadata: &[(String, String)]) -> Attributes {
    let mut attributes = of_metadata(metadata);
    for (key, text) in metadata.iter().filter(|(_, text)| is_object(text)) {
        attributes.insert(key.clone(), Value::String(text.clone()));
    }
    attributes
}

#[cfg(feature = "hdf5")]
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && matches!(serde_json::from_str(text), Ok(Value::Object(_)))
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
        match path.zip(serde_json::from_str::<Attributes>(text).ok()) {
            Some((path, attributes)) => drop(groups.insert(path.to_owned(), attributes)),
            None => of_root.push((key.clone(), text.clone())),
        }
    }
    (groups, of_root)
}

/// Reads the pairs of [`to_metadata`].
pub(crate) fn of_metadata(metadata: &[(String, String)]) -> Attributes {
    let value =
        |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
    metadata.iter().map(|(key, text)| (key.clone(), value(text))).collect()
}

/// Formats attributes as a JSON object, or as an empty string if there are none.
#[cfg(any(feature = "hdf5", feature = "zarr"))]
pub(crate) fn to_text(attributes: &Attributes) -> String {
    if attributes.is_empty() {
        return String::new();
    }
    Value::Object(attributes.clone()).to_string()
}

/// Parses attributes from a JSON object; none if the text is not an object.
pub(crate) fn of_text(text: &str) -> Attributes {
    match serde_json::from_str(text) {
        Ok(Value::Object(attributes)) => attributes,
        _ => Attributes::new(),
    }
}

#[cfg(all(test, any(feature = "hdf5", feature = "zarr")))]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_from_pairs_and_from_a_text() {
        let all = serde_json::json!({
            "title": "wind at 10 m", "empty": "", "number": 5, "text of a number": "5", "null": null,
            "text of a word": "null", "list": [1, "two", {"three": 3.5}], "quoted": "\"x\"",
        });
        let Value::Object(all) = all else { panic!("an object") };
        let pairs = to_metadata(all.clone());
        assert!(pairs.contains(&("title".to_owned(), "wind at 10 m".to_owned())));
        assert_eq!(of_metadata(&pairs), all);
        assert_eq!(of_text(&to_text(&all)), all);
        assert_eq!(of_text(&to_text(&Attributes::new())), Attributes::new());
    }

    #[cfg(feature = "hdf5")]
    #[test]
    fn a_text_that_is_an_object_stays_as_it_is_where_there_are_no_objects() {
        let all = serde_json::json!({
            "config": "{\"a\" : 1.0}", "number": 5, "text of a number": "5", "brace": "{", "list": [1, 2],
        });
        let Value::Object(all) = all else { panic!("an object") };
        let pairs = to_metadata_without_objects(all.clone());
        assert!(pairs.contains(&("config".to_owned(), "{\"a\" : 1.0}".to_owned())), "{pairs:?}");
        assert_eq!(of_metadata_without_objects(&pairs), all);
    }
}
