//! The arrays of a store.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::array::ZarrArray;
use crate::error::Error;
use crate::metadata::{self, V2_ARRAY, V2_ATTRIBUTES, V2_GROUP, V3};
use crate::object_store::{Below, ObjectStore};

/// So many arrays are read of a store, and folders, so deep: more is taken for a mistake.
pub const MOST_ARRAYS: usize = 1 << 16;
const MOST_FOLDERS: usize = 1 << 17;
pub(crate) const MOST_DEPTH: usize = 64;

/// What is said of an array or a group besides: values in JSON by their names.
pub type Attributes = serde_json::Map<String, Value>;

/// A Zarr store: an array, or a group of arrays and groups.
#[derive(Debug)]
pub struct Store {
    /// What is said of it as a whole, if it is a group; what is said of an array is with that.
    pub attributes: Attributes,
    /// What is said of the groups within it, by their paths, if anything is.
    pub groups: BTreeMap<String, Attributes>,
    /// Its arrays, sorted by their paths.
    pub arrays: Vec<ZarrArray>,
    /// Those that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// An array that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Its path below the root.
    pub path: String,
    /// Why.
    pub error: Error,
}

/// What a folder is.
#[derive(Clone, Copy)]
enum Node {
    Array,
    Group,
    Neither,
}

impl Store {
    /// Whether the folder at `path` is a store: whether it has one of the files of metadata.
    pub fn is_store(path: &Path) -> bool {
        [V3, V2_ARRAY, V2_GROUP].iter().any(|name| path.join(name).is_file())
    }

    /// Whether there is a store: whether there is one of the objects of metadata.
    ///
    /// # Errors
    /// [`Error`] if that cannot be found out.
    pub fn is_in(objects: &dyn ObjectStore) -> Result<bool, Error> {
        for name in [V3, V2_ARRAY, V2_GROUP] {
            if is_there(objects, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the metadata of all arrays of a store. Lists in the store, as consolidated metadata, are not asked:
    /// they may be older than the arrays.
    ///
    /// # Errors
    /// [`Error`] if something cannot be read, or there is too much.
    pub fn open(objects: &Arc<dyn ObjectStore>) -> Result<Store, Error> {
        let node = node(&**objects, "")?;
        let attributes = match node {
            Node::Array => Attributes::new(),
            Node::Group | Node::Neither => attributes_of_group(&**objects, "")?,
        };
        let (groups, arrays, unreadable) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut store = Store { attributes, groups, arrays, unreadable };
        store.walk(objects, "", node, &mut 0)?;
        Ok(store)
    }

    /// Adds what is at a path. What is wrong there hides nothing else.
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
            // Hidden folders that say nothing of themselves are no part of a store.
            Node::Neither if is_hidden(&path) => Ok(()),
            node => self.walk(objects, &path, node, walked),
        });
        match walked {
            Err(error @ Error::TooMany(_)) => return Err(error),
            Err(error) => self.unreadable.push(Unreadable { path, error }),
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
                Err(error) => self.unreadable.push(Unreadable { path: path.to_owned(), error }),
            },
            // Below the root, what says nothing of itself is a group all the same in version 3.
            Node::Group | Node::Neither if depth < MOST_DEPTH => {
                let attributes = match (node, path) {
                    (Node::Group, path) if !path.is_empty() => {
                        attributes_of_group(&**objects, path)?
                    }
                    _ => Attributes::new(),
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

/// The key of what is called `name` in what is at a path.
pub(crate) fn key_of(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// What is at a path.
fn node(objects: &dyn ObjectStore, path: &str) -> Result<Node, Error> {
    if let Some(stated) = metadata::read(objects, path, V3)? {
        let node = match stated.get("node_type").and_then(Value::as_str) {
            Some("array") => Node::Array,
            Some("group") => Node::Group,
            _ => {
                let why = "node_type is neither \"array\" nor \"group\"";
                return Err(Error::Unsupported(format!("{V3}: {why}")));
            }
        };
        return metadata::check_fields(&stated).map(|()| node);
    }
    let has = |name: &str| is_there(objects, &key_of(path, name));
    Ok(match (has(V2_ARRAY)?, has(V2_GROUP)?) {
        (true, _) => Node::Array,
        (false, true) => Node::Group,
        (false, false) => Node::Neither,
    })
}

/// Whether an object is there: something else under its name is none.
fn is_there(objects: &dyn ObjectStore, key: &str) -> Result<bool, Error> {
    match objects.stat(key) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        other => Ok(other?.is_some()),
    }
}

/// What is said of the group at a path.
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

/// Whether a folder has a name that is not meant for users.
fn is_hidden(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(['.', '_']))
}
