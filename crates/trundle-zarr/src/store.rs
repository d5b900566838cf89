//! Finds the arrays and groups of a store.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::array::ZarrArray;
use crate::error::Error;
use crate::metadata::{self, Attributes, V2_ARRAY, V2_ATTRIBUTES, V2_GROUP, V3};
use crate::object_store::{Below, ObjectStore, key_of};
use crate::undecoded_array::UndecodedArray;

/// The most arrays that are read from a store.
pub const MOST_ARRAYS: usize = 1 << 16;
const MOST_FOLDERS: usize = 1 << 17;
/// The most components of a path.
pub(crate) const MOST_DEPTH: usize = 64;

/// A Zarr store, whose root is an array, or a group of arrays and groups.
#[derive(Debug, Default)]
pub struct Store {
    /// The attributes of the root group; empty if the root is an array.
    pub attributes: Attributes,
    /// The attributes of the other groups by path. Groups without attributes are left out.
    pub groups: BTreeMap<String, Attributes>,
    /// The arrays, sorted by path.
    pub arrays: Vec<ZarrArray>,
    /// The arrays that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// An array that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The path below the root.
    pub path: String,
    /// The reason.
    pub error: Error,
    /// The array for copying it as it is stored; `None` if that is impossible too.
    pub undecoded: Option<UndecodedArray>,
}

#[derive(Clone, Copy)]
enum Node {
    Array,
    Group,
    Neither,
}

impl Store {
    /// Returns whether the folder at `path` is a store: whether it contains a metadata file.
    pub fn is_store(path: &Path) -> bool {
        [V3, V2_ARRAY, V2_GROUP].iter().any(|name| path.join(name).is_file())
    }

    /// Returns whether `objects` contains a store: whether there is a metadata object at the root.
    ///
    /// # Errors
    /// [`Error`] if the objects cannot be queried.
    pub fn is_in(objects: &dyn ObjectStore) -> Result<bool, Error> {
        for name in [V3, V2_ARRAY, V2_GROUP] {
            if is_there(objects, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the metadata of all arrays of a store. Consolidated metadata may be outdated and is ignored.
    ///
    /// # Errors
    /// [`Error`] if the root cannot be read, or the store exceeds the limits.
    pub fn open(objects: &Arc<dyn ObjectStore>) -> Result<Store, Error> {
        let node = node(&**objects, "")?;
        let mut store = Store::default();
        store.walk(objects, "", node, &mut 0)?;
        store.attributes = store.groups.remove("").unwrap_or_default();
        Ok(store)
    }

    /// Adds the node at a path. An error of the node is recorded and does not hide other nodes.
    fn add(
        &mut self,
        objects: &Arc<dyn ObjectStore>,
        (path, is_link): (String, bool),
        walked: &mut usize,
    ) -> Result<(), Error> {
        let node = match node(&**objects, &path) {
            Ok(Node::Array | Node::Group) if is_link => {
                Err(Error::unsupported("is a symbolic link, which is not followed"))
            }
            Ok(_) if is_link => return Ok(()),
            other => other,
        };
        let walked = node.and_then(|node| match node {
            // A hidden folder without metadata does not belong to the store.
            Node::Neither if is_hidden(&path) => Ok(()),
            node => self.walk(objects, &path, node, walked),
        });
        match walked {
            Err(error @ Error::TooMany(_)) => return Err(error),
            Err(error) => self.unreadable.push(Unreadable { path, error, undecoded: None }),
            Ok(()) => {}
        }
        Ok(())
    }

    fn walk(
        &mut self,
        objects: &Arc<dyn ObjectStore>,
        path: &str,
        node: Node,
        walked: &mut usize,
    ) -> Result<(), Error> {
        *walked += 1;
        let depth = path.split('/').count();
        match node {
            Node::Array => match ZarrArray::open(objects, path) {
                Ok(array) => self.arrays.push(array),
                Err(error) => {
                    let undecoded = UndecodedArray::open(objects, path).ok();
                    self.unreadable.push(Unreadable { path: path.to_owned(), error, undecoded });
                }
            },
            // Below the root, a folder without metadata counts as a group, which version 3 allows.
            Node::Group | Node::Neither if depth < MOST_DEPTH => {
                let attributes = match node {
                    Node::Neither if !path.is_empty() => Attributes::new(),
                    _ => attributes_of_group(&**objects, path)?,
                };
                if !attributes.is_empty() {
                    self.groups.insert(path.to_owned(), attributes);
                }
                for Below { name, is_link } in objects.folders(path)? {
                    self.add(objects, (key_of(path, &name), is_link), walked)?;
                }
            }
            Node::Group | Node::Neither => {
                return Err(Error::Unsupported(format!("folders more than {MOST_DEPTH} deep")));
            }
        }
        if self.arrays.len() + self.unreadable.len() > MOST_ARRAYS {
            return Err(Error::TooMany(format!("more than {MOST_ARRAYS} arrays")));
        }
        if *walked > MOST_FOLDERS {
            return Err(Error::TooMany(format!("more than {MOST_FOLDERS} folders")));
        }
        Ok(())
    }
}

fn node(objects: &dyn ObjectStore, path: &str) -> Result<Node, Error> {
    if let Some(document) = metadata::read(objects, path, V3)? {
        let node = match document.get("node_type").and_then(Value::as_str) {
            Some("array") => Node::Array,
            Some("group") => Node::Group,
            _ => {
                let why = "node_type is neither \"array\" nor \"group\"";
                return Err(Error::Unsupported(format!("{V3}: {why}")));
            }
        };
        return metadata::check_fields(&document).map(|()| node);
    }
    let has = |name: &str| is_there(objects, &key_of(path, name));
    Ok(match (has(V2_ARRAY)?, has(V2_GROUP)?) {
        (true, _) => Node::Array,
        (false, true) => Node::Group,
        (false, false) => Node::Neither,
    })
}

fn is_there(objects: &dyn ObjectStore, key: &str) -> Result<bool, Error> {
    match objects.stat(key) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        other => Ok(other?.is_some()),
    }
}

fn attributes_of_group(objects: &dyn ObjectStore, path: &str) -> Result<Attributes, Error> {
    let attributes = match metadata::read(objects, path, V3)? {
        Some(mut group) => group.get_mut("attributes").map(Value::take),
        None => metadata::read(objects, path, V2_ATTRIBUTES)?,
    };
    match attributes {
        Some(Value::Object(attributes)) => Ok(attributes),
        _ => Ok(Attributes::new()),
    }
}

fn is_hidden(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(['.', '_']))
}
