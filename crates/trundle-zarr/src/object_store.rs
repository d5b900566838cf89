//! The interface to the objects of a Zarr store.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};
use std::time::SystemTime;

/// Objects by key: paths below the root of the store, with slashes between their components. Folders, buckets
/// and stores of zarr-python implement it.
pub trait ObjectStore: Debug + Send + Sync {
    /// Returns the size and the time of an object; `None` if it does not exist, such as a chunk that was never written.
    ///
    /// # Errors
    /// If the store cannot be queried; [`io::ErrorKind::Unsupported`] if the key is not a regular object.
    fn stat(&self, key: &str) -> io::Result<Option<Stat>>;

    /// Reads a part of an object; `None` if it does not exist. Refuses more than `most` bytes before reading.
    ///
    /// # Errors
    /// The errors of [`ObjectStore::stat`], and if the object cannot be read; [`io::ErrorKind::InvalidData`] if the
    /// part has more than `most` bytes or is not within the object.
    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>>;

    /// Reads a part like [`ObjectStore::read`]. Sets `version` if it is `None`, otherwise checks that the object still
    /// has it. A store without versions leaves it as it is.
    ///
    /// # Errors
    /// The errors of [`ObjectStore::read`], and if the object has another version.
    fn read_version(
        &self,
        key: &str,
        part: ByteRange,
        most: u64,
        _version: &mut Option<String>,
    ) -> io::Result<Option<Vec<u8>>> {
        self.read(key, part, most)
    }

    /// Reads an object, which must be exactly as long as `out`. Returns whether the object exists.
    ///
    /// # Errors
    /// The errors of [`ObjectStore::read`]; [`io::ErrorKind::InvalidData`] if the object is longer or shorter.
    fn read_all(&self, key: &str, out: &mut [u8]) -> io::Result<bool> {
        let Some(read) = self.read(key, ByteRange::All, out.len() as u64)? else {
            return Ok(false);
        };
        check_length(read.len() as u64, out.len() as u64)?;
        out.copy_from_slice(&read);
        Ok(true)
    }

    /// Opens an object in order to copy it to another store.
    ///
    /// # Errors
    /// If the object cannot be opened, or has more than `most` bytes.
    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>>;

    /// Lists the names directly below a path that may contain objects, sorted.
    ///
    /// # Errors
    /// If the names cannot be listed.
    fn folders(&self, path: &str) -> io::Result<Vec<Below>>;

    /// Returns whether requests go through a network.
    fn is_remote(&self) -> bool {
        false
    }

    /// Writes an object atomically, and returns its size in bytes.
    ///
    /// # Errors
    /// If the object cannot be written.
    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64>;
}

/// The size, the time and the entity tag of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last write, if known.
    pub modified: Option<SystemTime>,
    /// A text that differs if a server has replaced the object, if known.
    pub tag: Option<String>,
}

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// The whole object.
    All,
    /// The part that begins at the first number, with the second number as length, both in bytes.
    Range(u64, u64),
    /// The last bytes of the object, as many as the number.
    Last(u64),
}

/// The bytes of an object.
#[derive(Debug)]
pub enum Object<'a> {
    /// The content of a file, which the system can copy directly.
    File(File),
    /// Bytes in memory.
    Bytes(Cow<'a, [u8]>),
    /// An object of another store, which may be copied without passing through this process.
    Elsewhere(Box<dyn Elsewhere>),
}

impl Object<'_> {
    /// Returns all bytes.
    ///
    /// # Errors
    /// If the object cannot be read.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self {
            Object::Bytes(bytes) => Ok(bytes.into_owned()),
            Object::Elsewhere(object) => object.read(),
            Object::File(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// An object of another store.
pub trait Elsewhere: Any + Debug + Send {
    /// Returns the size in bytes.
    fn bytes(&self) -> u64;

    /// Reads the bytes of the object.
    ///
    /// # Errors
    /// If the object cannot be read.
    fn read(&self) -> io::Result<Vec<u8>>;
}

/// A name below a path that may contain objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// The name: one component of a key.
    pub name: String,
    /// Whether it is a symbolic link, which could form a cycle.
    pub is_link: bool,
}

/// Checks that an object has at most `most` bytes.
///
/// # Errors
/// If the object has more bytes.
pub fn check_bytes(bytes: u64, most: u64) -> io::Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(wrong(format!("is {bytes} bytes, expected at most {most}")))
}

/// Checks that an object has the expected length.
///
/// # Errors
/// If the length differs.
pub(crate) fn check_length(bytes: u64, expected: u64) -> io::Result<()> {
    if bytes == expected {
        return Ok(());
    }
    Err(wrong(format!("has {bytes} bytes, not {expected}")))
}

impl ByteRange {
    /// Returns the range of bytes of this part in an object of `all` bytes.
    ///
    /// # Errors
    /// If the range is not within the object, or is longer than `most`.
    pub fn within(self, all: u64, most: u64) -> io::Result<std::ops::Range<u64>> {
        let range = match self {
            ByteRange::All => {
                check_bytes(all, most)?;
                Some(0..all)
            }
            ByteRange::Range(start, length) => start.checked_add(length).map(|end| start..end),
            ByteRange::Last(length) => all.checked_sub(length).map(|start| start..all),
        };
        let range = range.filter(|range| range.start <= range.end && range.end <= all);
        let range =
            range.ok_or_else(|| wrong(format!("its index points beyond its {all} bytes")))?;
        let length = range.end - range.start;
        if length > most {
            return Err(wrong(format!("has a part of {length} bytes, more than expected")));
        }
        Ok(range)
    }
}

pub(crate) fn wrong(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Returns the key of an object in the folder `path`.
pub(crate) fn key_of(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
