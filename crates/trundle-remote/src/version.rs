//! The version of an object.

use std::io;
use std::time::SystemTime;

use object_store::ObjectMeta;

/// The properties of an object that change when it is replaced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    pub(crate) bytes: u64,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) tag: Option<String>,
}

impl Version {
    pub(crate) fn of(object: &ObjectMeta) -> Version {
        let modified =
            Some(object.last_modified.into()).filter(|time| *time > SystemTime::UNIX_EPOCH);
        // A weak tag does not change with every byte.
        let tag = object.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
        Version { bytes: object.size, modified, tag }
    }

    /// Servers may state the time of an answer instead of the time of the last write, so a tag takes precedence.
    fn is_same(&self, other: &Version) -> bool {
        let is_tagged = self.tag.is_some() && other.tag.is_some();
        self.bytes == other.bytes
            && if is_tagged { self.tag == other.tag } else { self.modified == other.modified }
    }

    /// Returns a text that differs if the object has changed.
    pub(crate) fn text(&self) -> String {
        self.tag.clone().unwrap_or_else(|| format!("{} {:?}", self.bytes, self.modified))
    }

    /// Checks that the object has not changed since `before`.
    ///
    /// # Errors
    /// If it has changed.
    pub(crate) fn check(&self, before: &Version) -> io::Result<()> {
        if self.is_same(before) { Ok(()) } else { Err(changed()) }
    }
}

pub(crate) fn changed() -> io::Error {
    io::Error::other("changed while it was read: run the command again")
}
