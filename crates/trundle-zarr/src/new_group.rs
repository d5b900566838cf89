//! Writes the groups of a new store.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::Error;
use crate::metadata::{Attributes, V3};
use crate::new_array::NewArray;
use crate::object_store::{Object, ObjectStore, key_of};
use crate::undecoded_array::UndecodedArray;

/// The largest consolidated metadata that is written, in bytes. A reader must read all of it to open a store.
const MOST_LIST_BYTES: usize = 8 << 20;

/// Writes the metadata of the root group and of all groups above `arrays` and `stored`, which are written later.
///
/// `groups` maps paths to attributes; the root's path is empty. Groups without arrays are written too. The metadata of
/// the root lists all other nodes (consolidated metadata), for zarr-python and xarray.
///
/// # Errors
/// [`Error`] in the cases of [`NewArray::check`], and if the groups cannot be written.
pub fn create_groups(
    objects: &dyn ObjectStore,
    groups: &BTreeMap<String, Attributes>,
    arrays: &[NewArray],
    undecoded: &[UndecodedArray],
) -> Result<(), Error> {
    let mut all = groups.clone();
    let undecoded_paths = undecoded.iter().map(|array| &array.path);
    let paths = arrays.iter().map(|array| &array.path).chain(undecoded_paths);
    for path in groups.keys().chain(paths) {
        for (end, _) in path.match_indices('/') {
            all.entry(path[..end].to_owned()).or_default();
        }
    }
    let of_root = all.remove("").unwrap_or_default();
    let group = |attributes: &Attributes| json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes });
    let mut list: Vec<(&str, Value)> = Vec::with_capacity(all.len() + arrays.len());
    list.extend(all.iter().map(|(path, attributes)| (&path[..], group(attributes))));
    for array in arrays {
        list.push((&array.path, array.metadata()?));
    }
    for array in undecoded {
        let metadata =
            trundle_json::parse(array.document.as_bytes()).map_err(Error::unsupported)?;
        list.push((&array.path, metadata));
    }
    // zarr-python's order: by depth, then by path.
    list.sort_by_key(|(path, _)| (path.matches('/').count(), *path));
    let list: serde_json::Map<String, Value> =
        list.into_iter().map(|(path, metadata)| (path.to_owned(), metadata)).collect();
    let mut root_group = group(&of_root);
    if serde_json::to_vec(&list).map_err(Error::unsupported)?.len() <= MOST_LIST_BYTES {
        root_group["consolidated_metadata"] =
            json!({ "kind": "inline", "must_understand": false, "metadata": list });
    }
    write(objects, "", &root_group)?;
    all.iter().try_for_each(|(path, attributes)| write(objects, path, &group(attributes)))
}

fn write(objects: &dyn ObjectStore, path: &str, metadata: &Value) -> Result<(), Error> {
    let text = trundle_json::to_pretty_text(metadata).into_bytes();
    objects.write(&key_of(path, V3), Object::Bytes(text.into()))?;
    Ok(())
}
