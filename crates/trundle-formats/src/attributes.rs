//! What is said of an array or a group besides, as texts.

use serde_json::Value;

/// Values in JSON by their names.
type Attributes = serde_json::Map<String, Value>;

/// Pairs of texts, as other formats have them. What is no text is one in JSON, and so is a text that
/// could be taken for that.
pub(crate) fn to_metadata(attributes: Attributes) -> Vec<(String, String)> {
    let text = |value: Value| match value {
        Value::String(text) if serde_json::from_str::<Value>(&text).is_err() => text,
        other => other.to_string(),
    };
    attributes.into_iter().map(|(key, value)| (key, text(value))).collect()
}

/// The same of a format whose attributes are no objects: a text that is one in JSON stays as it is, and comes
/// back with [`of_metadata_without_objects`].
#[cfg(feature = "hdf5")]
pub(crate) fn to_metadata_without_objects(attributes: Attributes) -> Vec<(String, String)> {
    let pairs = attributes.into_iter().flat_map(|(key, value)| match value {
        Value::String(text) if is_object(&text) => vec![(key, text)],
        other => to_metadata(Attributes::from_iter([(key, other)])),
    });
    pairs.collect()
}

/// The attributes that were such pairs.
#[cfg(feature = "hdf5")]
pub(crate) fn of_metadata_without_objects(metadata: &[(String, String)]) -> Attributes {
    let mut attributes = of_metadata(metadata);
    for (key, text) in metadata.iter().filter(|(_, text)| is_object(text)) {
        attributes.insert(key.clone(), Value::String(text.clone()));
    }
    attributes
}

/// Whether a text is an object in JSON.
#[cfg(feature = "hdf5")]
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && matches!(serde_json::from_str(text), Ok(Value::Object(_)))
}

/// The attributes that were such pairs.
pub(crate) fn of_metadata(metadata: &[(String, String)]) -> Attributes {
    let value =
        |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
    metadata.iter().map(|(key, text)| (key.clone(), value(text))).collect()
}

/// An object in JSON; nothing if there is nothing in it.
pub(crate) fn to_text(attributes: &Attributes) -> String {
    if attributes.is_empty() {
        return String::new();
    }
    Value::Object(attributes.clone()).to_string()
}

/// The attributes of an object in JSON; none of what is none.
pub(crate) fn of_text(text: &str) -> Attributes {
    match serde_json::from_str(text) {
        Ok(Value::Object(attributes)) => attributes,
        _ => Attributes::new(),
    }
}

#[cfg(test)]
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
