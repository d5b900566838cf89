//! Changes the shapes of arrays in the metadata of an existing store.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::Error;
use crate::metadata::{V2_ARRAY, V3};
use crate::object_store::{ByteRange, ObjectStore, key_of};

/// The consolidated metadata of a store of version 2.
const V2_CONSOLIDATED: &str = ".zmetadata";

/// The largest metadata object that is changed, in bytes. Consolidated metadata lists all arrays of a store.
const MOST_BYTES: u64 = 256 << 20;

/// A new shape of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewShape {
    /// The path of the array below the root; empty for the root.
    pub path: String,
    /// The shape in the metadata.
    pub before: Vec<u64>,
    /// The shape that replaces it.
    pub after: Vec<u64>,
}

/// A metadata object of an array, or of a group that lists arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedMetadata {
    /// The key of the object.
    pub key: String,
    /// Its text in the store.
    pub before: String,
    /// Its new text, which is the same if an array keeps its shape.
    pub after: String,
}

/// Returns the metadata objects of arrays with their new shapes. They must be replaced in the returned order: first the
/// arrays, then the consolidated metadata of the groups above arrays whose shape changes, the root last.
///
/// # Errors
/// [`Error`] if an object cannot be read, or an array does not have the stated shape.
pub fn reshaped(
    objects: &dyn ObjectStore,
    arrays: &[NewShape],
) -> Result<Vec<ChangedMetadata>, Error> {
    let mut changed = Vec::new();
    for array in arrays {
        let (key, mut document, before) = match text(objects, &array.path, V3)? {
            Some(found) => found,
            None => text(objects, &array.path, V2_ARRAY)?
                .ok_or_else(|| Error::unsupported("is not an array"))?,
        };
        if document["shape"] != json!(array.before) {
            return Err(Error::Unsupported(format!("{key}: has changed in the meantime")));
        }
        let after = if array.before == array.after {
            before.clone()
        } else {
            document["shape"] = json!(array.after);
            trundle_json::to_pretty_text(&document)
        };
        changed.push(ChangedMetadata { key, before, after });
    }
    let arrays = || arrays.iter().filter(|array| array.before != array.after);
    let mut groups: BTreeSet<&str> = BTreeSet::new();
    for array in arrays().filter(|array| !array.path.is_empty()) {
        groups.insert("");
        groups.extend(array.path.match_indices('/').map(|(end, _)| &array.path[..end]));
    }
    for group in groups.into_iter().rev() {
        for name in [V3, V2_CONSOLIDATED] {
            let Some((key, mut document, before)) = text(objects, group, name)? else { continue };
            let (list, ending) = match name {
                V3 => (document.pointer_mut("/consolidated_metadata/metadata"), ""),
                _ => (document.get_mut("metadata"), "/.zarray"),
            };
            let Some(list) = list.and_then(Value::as_object_mut) else { continue };
            for array in arrays() {
                let within = match group {
                    "" => Some(&*array.path),
                    _ => array.path.strip_prefix(group).and_then(|path| path.strip_prefix('/')),
                };
                let node = within.and_then(|path| list.get_mut(&format!("{path}{ending}")));
                if let Some(shape) = node.and_then(|node| node.get_mut("shape")) {
                    *shape = json!(array.after);
                }
            }
            let after = trundle_json::to_pretty_text(&document);
            changed.push(ChangedMetadata { key, before, after });
        }
    }
    Ok(changed)
}

/// Reads a metadata object: its key, its value and its text; `None` if it does not exist.
fn text(
    objects: &dyn ObjectStore,
    path: &str,
    name: &str,
) -> Result<Option<(String, Value, String)>, Error> {
    let key = key_of(path, name);
    let wrong = |why: String| Error::Unsupported(format!("{key}: {why}"));
    let Some(bytes) = objects.read(&key, ByteRange::All, MOST_BYTES)? else { return Ok(None) };
    let document = trundle_json::parse(&bytes).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(Some((key, document, text)))
}
