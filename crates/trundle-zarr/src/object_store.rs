//! Where the objects of a Zarr store are.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::time::SystemTime;

/// What a store is in: objects by their keys, which are paths below its root with slashes between their
/// parts. A folder has files for them, a bucket has them as they are.
pub trait ObjectStore: Debug + Send + Sync {
    /// How long an object is, and when it was written; none if it is not there, which a chunk that was never
    /// written is not.
    ///
    /// # Errors
    /// If that cannot be found out; [`io::ErrorKind::Unsupported`] if there is something else.
    fn stat(&self, key: &str) -> io::Result<Option<Stat>>;

    /// A part of an object, none if it is not there. What is more than `most` bytes is refused before it is read.
    ///
    /// # Errors
    /// As [`ObjectStore::stat`], and if it cannot be read; [`io::ErrorKind::InvalidData`] if it has more bytes, or not all
    /// of the part.
    fn read(&self, key: &str, part: Part, most: u64) -> io::Result<Option<Vec<u8>>>;

    /// All of an object that is exactly as long as `out`, and whether it is there.
    ///
    /// # Errors
    /// As [`ObjectStore::read`]; [`io::ErrorKind::InvalidData`] if it is longer or shorter.
    fn read_all(&self, key: &str, out: &mut [u8]) -> io::Result<bool> {
        let Some(read) = self.read(key, Part::All, out.len() as u64)? else { return Ok(false) };
        check_length(read.len() as u64, out.len() as u64)?;
        out.copy_from_slice(&read);
        Ok(true)
    }

    /// An object as it is, to be written elsewhere.
    ///
    /// # Errors
    /// If it cannot be opened, or has more bytes than `most`.
    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>>;

    /// The names of what is below a path and may have objects below itself, sorted.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn folders(&self, path: &str) -> io::Result<Vec<Below>>;

    /// Whether each question takes as long as a network does.
    fn is_remote(&self) -> bool {
        false
    }

    /// Writes an object, whole or not at all to whoever reads it, and says how many bytes it has.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64>;
}

/// What is known of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was last written, if that is known.
    pub modified: Option<SystemTime>,
}

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// From this byte on.
    From(u64),
    /// From this byte on so many.
    Range(u64, u64),
    /// The last bytes, so many.
    Last(u64),
}

/// The bytes of an object.
#[derive(Debug)]
pub enum Object<'a> {
    /// Those of a file, which the system copies by itself.
    File(File),
    /// These.
    Bytes(Cow<'a, [u8]>),
    /// Those of an object elsewhere, which need not come here to be copied.
    Elsewhere(Box<dyn Elsewhere>),
}

/// An object of another store.
pub trait Elsewhere: Any + Debug + Send {
    /// Its bytes.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&self) -> io::Result<Vec<u8>>;
}

/// Something that may have objects below itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// Its name: one part of a key.
    pub name: String,
    /// Whether it is a symbolic link, which could lead in a circle.
    pub is_link: bool,
}

/// That an object is longer than anything expected.
///
/// # Errors
/// If it is.
pub fn check_bytes(bytes: u64, most: u64) -> io::Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(wrong(format!("is {bytes} bytes, where {most} at most were expected")))
}

/// That an object is as long as expected.
///
/// # Errors
/// If it is not.
pub(crate) fn check_length(bytes: u64, expected: u64) -> io::Result<()> {
    if bytes == expected {
        return Ok(());
    }
    Err(wrong(format!("has {bytes} bytes, not {expected}")))
}

impl Part {
    /// Where it begins and ends in an object of so many bytes.
    ///
    /// # Errors
    /// If it is not within, or more than `most`.
    pub fn within(self, all: u64, most: u64) -> io::Result<std::ops::Range<u64>> {
        let range = match self {
            Part::All => {
                check_bytes(all, most)?;
                Some(0..all)
            }
            Part::From(start) => Some(start..all),
            Part::Range(start, length) => start.checked_add(length).map(|end| start..end),
            Part::Last(length) => all.checked_sub(length).map(|start| start..all),
        };
        let range = range.filter(|range| range.start <= range.end && range.end <= all);
        let range =
            range.ok_or_else(|| wrong(format!("its index leads out of its {all} bytes")))?;
        let length = range.end - range.start;
        if length > most {
            return Err(wrong(format!("has a part of {length} bytes, more than were expected")));
        }
        Ok(range)
    }
}

/// That an object is not what it should be.
pub(crate) fn wrong(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
