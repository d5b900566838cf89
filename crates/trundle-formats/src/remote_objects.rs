//! The objects of a Zarr store in a bucket or on an HTTP server.

use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use serde_json::Value;
use trundle_remote::{New, Remote};
use trundle_zarr::{Below, ByteRange, Elsewhere, Object, ObjectStore, Stat, check_bytes};

use crate::bucket::Bucket;

#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) remote: Arc<Remote>,
    /// The paths of a store's groups and arrays, if the server does not list them.
    paths: OnceLock<Vec<String>>,
    /// The first read request that failed. Opening a store reports it instead of a malformed array.
    failure: OnceLock<String>,
}

#[derive(Debug)]
struct RemoteObject {
    remote: Arc<Remote>,
    key: String,
    bytes: u64,
}

/// The largest object in bytes that the server copies. The copy of a larger object may exceed the request timeout.
const MOST_COPIED_BYTES: u64 = 1 << 30;

/// The largest consolidated metadata in bytes.
const MOST_METADATA_BYTES: u64 = 64 << 20;

const NOT_LISTED: &str = "an HTTP server does not list the arrays of a group, and the group has no consolidated metadata: read an array by its own URL, or run zarr.consolidate_metadata where the store is written";

fn paths_of_version_3(root: &Value) -> Option<Vec<String>> {
    let members = root.get("consolidated_metadata")?.get("metadata")?.as_object()?;
    Some(members.keys().cloned().collect())
}

fn paths_of_version_2(document: &Value) -> Option<Vec<String>> {
    let members = document.get("metadata")?.as_object()?.keys();
    Some(members.filter_map(|key| Some(key.rsplit_once('/')?.0.to_owned())).collect())
}

/// Returns the names directly below `path` that lead to one of `paths`, sorted.
fn below(paths: &[String], path: &str) -> Vec<String> {
    let below = |other: &'_ String| -> Option<String> {
        let rest = match path {
            "" => other.as_str(),
            path => other.strip_prefix(path)?.strip_prefix('/')?,
        };
        rest.split('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
    };
    let names: BTreeSet<String> = paths.iter().filter_map(below).collect();
    names.into_iter().collect()
}

impl Elsewhere for RemoteObject {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let check = |all, _| check_bytes(all, self.bytes);
        let read = self.remote.read(&self.key, trundle_remote::ByteRange::All, &mut None, check);
        // The message names the source, because the caller adds only the path of the destination.
        let wrong = |error: io::Error| {
            io::Error::new(error.kind(), format!("{} of the source: {error}", self.key))
        };
        read.and_then(|read| read.ok_or_else(|| io::ErrorKind::NotFound.into())).map_err(wrong)
    }
}

impl Objects {
    /// Opens the bucket or the server of a URL.
    ///
    /// # Errors
    /// If the URL or the settings are invalid.
    pub(crate) fn open(url: &str) -> io::Result<Objects> {
        let remote = Arc::new(Remote::open(url)?);
        Ok(Objects { remote, paths: OnceLock::new(), failure: OnceLock::new() })
    }

    /// Returns the paths of the groups and arrays in the consolidated metadata of the root. Each is then read by itself,
    /// because consolidated metadata may be outdated.
    fn paths(&self) -> io::Result<&[String]> {
        if let Some(paths) = self.paths.get() {
            return Ok(paths);
        }
        let read = |key| -> io::Result<Option<Value>> {
            let text = self.read(key, ByteRange::All, MOST_METADATA_BYTES)?;
            // If it is malformed, reading the root reports that.
            Ok(text.and_then(|text| trundle_json::parse(&text).ok()))
        };
        let version_3 = read("zarr.json")?.as_ref().and_then(paths_of_version_3);
        let paths = match version_3 {
            Some(paths) => Some(paths),
            None => read(".zmetadata")?.as_ref().and_then(paths_of_version_2),
        };
        match paths {
            Some(paths) => Ok(self.paths.get_or_init(|| paths)),
            None => Err(io::Error::new(io::ErrorKind::NotFound, NOT_LISTED)),
        }
    }

    fn noted<T>(&self, answer: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &answer
            && error.kind() != io::ErrorKind::InvalidData
        {
            self.failure.get_or_init(|| error.to_string());
        }
        answer
    }
}

impl ObjectStore for Objects {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        let found = self.noted(self.remote.stat(key))?;
        Ok(found.map(|found| Stat {
            bytes: found.bytes,
            modified: Some(found.modified).filter(|time| *time > UNIX_EPOCH),
            tag: found.tag,
        }))
    }

    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.read_version(key, part, most, &mut None)
    }

    fn read_version(
        &self,
        key: &str,
        part: ByteRange,
        most: u64,
        version: &mut Option<String>,
    ) -> io::Result<Option<Vec<u8>>> {
        let range = match part {
            ByteRange::All => trundle_remote::ByteRange::All,
            // Servers refuse empty ranges.
            ByteRange::Range(_, 0) | ByteRange::Last(0) => {
                let Some(found) = self.noted(self.remote.stat(key))? else { return Ok(None) };
                return part.within(found.bytes, most).map(|_| Some(Vec::new()));
            }
            ByteRange::Range(start, length) => trundle_remote::ByteRange::Range(start, length),
            ByteRange::Last(length) => trundle_remote::ByteRange::Last(length),
        };
        let check = |all, _| part.within(all, most).map(drop);
        self.noted(self.remote.read(key, range, version, check))
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>> {
        let Some(found) = self.noted(self.remote.stat(key))? else { return Ok(None) };
        check_bytes(found.bytes, most)?;
        let (remote, key) = (Arc::clone(&self.remote), key.to_owned());
        Ok(Some(Object::Elsewhere(Box::new(RemoteObject { remote, key, bytes: found.bytes }))))
    }

    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        let names = match self.remote.is_http() {
            true => below(self.noted(self.paths())?, path),
            false => self.noted(self.remote.folders(path))?,
        };
        Ok(names.into_iter().map(|name| Below { name, is_link: false }).collect())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64> {
        if let Object::Elsewhere(elsewhere) = &object
            && let Some(from) = (&**elsewhere as &dyn Any).downcast_ref::<RemoteObject>()
            && self.remote.is_beside(&from.remote)
            && from.bytes <= MOST_COPIED_BYTES
        {
            let copied = self.remote.copy(key, &from.remote, &from.key);
            match copied.and_then(|()| self.remote.stat(key)) {
                Ok(Some(copied)) if copied.bytes == from.bytes => return Ok(from.bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                // The user may lack the permission to copy, or the server the operation. Download and upload instead.
                _ => {}
            }
        }
        let bytes = object.into_bytes()?;
        let written = bytes.len() as u64;
        self.remote.write(key, bytes, New::OrReplace)?;
        Ok(written)
    }
}

impl Bucket for Objects {
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.remote.keys("", 1)?.is_empty())
    }

    fn keys(&self, path: &str) -> io::Result<Vec<String>> {
        self.remote.keys(path, usize::MAX)
    }

    fn create(&self, key: &str, bytes: Vec<u8>, tag: &str) -> io::Result<()> {
        self.remote.write_tagged(key, bytes, New::Only, tag)
    }

    fn tag(&self, key: &str) -> io::Result<Option<String>> {
        self.remote.tag(key)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.remote.remove(key)
    }

    fn remove_below(&self, path: &str, kept: &str) -> io::Result<()> {
        self.remote.remove_below(path, kept)
    }

    fn is_listed(&self) -> bool {
        !self.remote.is_http()
    }

    fn check_reads(&self) -> io::Result<()> {
        self.failure.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_read_from_both_versions() {
        let document =
            json!({"metadata": {".zgroup": {}, ".zattrs": {}, "a/.zarray": {}, "b/c/.zarray": {}}});
        let paths = paths_of_version_2(&document).unwrap();
        assert_eq!(
            (below(&paths, ""), below(&paths, "b")),
            (vec!["a".into(), "b".into()], vec!["c".into()])
        );
        let document =
            json!({"consolidated_metadata": {"metadata": {"b": {}, "b/c": {}, "bc": {}, "": {}}}});
        let paths = paths_of_version_3(&document).unwrap();
        assert_eq!(
            (below(&paths, ""), below(&paths, "b")),
            (vec!["b".into(), "bc".into()], vec!["c".into()])
        );
        assert_eq!((paths_of_version_3(&json!({})), paths_of_version_2(&json!([]))), (None, None));
    }
}
