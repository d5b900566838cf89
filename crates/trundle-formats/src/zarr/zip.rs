//! A Zarr store in a zip archive, which is only read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use trundle_zarr::{Below, ByteRange, Object, ObjectStore, Stat};

use super::read;
use crate::contents::Contents;
use crate::npz::directory;
use crate::npz::member::Member;
use crate::source::{Source, copy, read_data};
use crate::{Blob, Problem, TensorHint};

/// The names of the metadata objects of a store.
const METADATA: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// The members of an archive as objects.
#[derive(Debug)]
struct Archive {
    /// The member of each key, or the reason why it cannot be read.
    members: BTreeMap<String, Result<Member, String>>,
    blob: Arc<dyn Blob>,
}

/// Returns whether a member of an archive belongs to a store.
pub(crate) fn is_metadata(name: &str) -> bool {
    METADATA.contains(&name.rsplit('/').next().unwrap_or(name))
}

/// Opens the store in an archive. It is at the root, or in a folder that contains all of it.
///
/// # Errors
/// [`Problem`] if the archive is malformed, holds several stores, or no array can be read.
pub(crate) fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let found = directory::read(&mut source, "")?;
    let root = root_of(found.iter().map(|(member, _)| &*member.name))?;
    let own = |(member, fault): (Member, Option<Problem>)| {
        let key = member.name.strip_prefix(&root)?.to_owned();
        Some((key, fault.map_or(Ok(member), |fault| Err(fault.to_string()))))
    };
    // Writers cannot replace a member, so they append another one, and the last one counts.
    let members = found.into_iter().filter_map(own).collect();
    let name = source.name().to_owned();
    let blob = source.into_blob().ok_or_else(|| Problem::unsupported("a stream of an archive"))?;
    let objects: Arc<dyn ObjectStore> = Arc::new(Archive { members, blob });
    read(Path::new(&name), &objects, hint)
}

/// Returns the folder of the store with a slash at the end; empty for the root of the archive.
fn root_of<'a>(names: impl Iterator<Item = &'a str>) -> Result<String, Problem> {
    let folder = |name: &'a str| &name[..name.rfind('/').map_or(0, |slash| slash + 1)];
    let folders: Vec<&str> = names.filter(|name| is_metadata(name)).map(folder).collect();
    let root = folders.iter().min_by_key(|folder| folder.len()).copied().unwrap_or_default();
    match folders.iter().all(|folder| folder.starts_with(root)) {
        true => Ok(root.to_owned()),
        false => Err(Problem::unsupported("holds several Zarr stores: unzip it first")),
    }
}

impl Archive {
    fn member(&self, key: &str) -> io::Result<Option<&Member>> {
        // An unsupported object would count as missing.
        let refused = |why: &String| io::Error::new(io::ErrorKind::InvalidData, why.clone());
        self.members.get(key).map(|member| member.as_ref().map_err(refused)).transpose()
    }

    /// Reads the range of a member's bytes that begins at `start`. A whole member is compared with its CRC-32.
    fn read_range(&self, member: &Member, start: u64, bytes: u64) -> Result<Vec<u8>, Problem> {
        let mut source = Source::of_blob(Arc::clone(&self.blob));
        if let (Some(at), true) = (member.offset_of(start), bytes < member.bytes) {
            source.seek_to(at)?;
            return complete(&mut source, bytes, bytes);
        }
        let mut reader = member.read(&mut source)?;
        copy(&mut reader, start, &mut io::sink(), &mut |_| ())?;
        let stored = reader.stored();
        let read = complete(&mut reader, bytes, stored)?;
        if bytes == member.bytes {
            reader.finish()?;
        }
        Ok(read)
    }
}

/// Reads `bytes` bytes, of which `stored` bytes are known to exist.
fn complete(reader: &mut impl Read, bytes: u64, stored: u64) -> Result<Vec<u8>, Problem> {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    let read = read_data(reader, most, stored, &mut |_| ())?;
    match read.len() as u64 {
        got if got < bytes => Err(Problem::Truncated { part: "the member", expected: bytes, got }),
        _ => Ok(read),
    }
}

fn error_of(problem: Problem) -> io::Error {
    match problem {
        // The caller names the member.
        Problem::Member { problem, .. } => error_of(*problem),
        Problem::Io { source, .. } => source,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}

impl ObjectStore for Archive {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        let member = self.member(key)?;
        Ok(member.map(|member| Stat { bytes: member.bytes, modified: None, tag: None }))
    }

    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(member) = self.member(key)? else { return Ok(None) };
        let range = part.within(member.bytes, most)?;
        let read = self.read_range(member, range.start, range.end - range.start);
        read.map(Some).map_err(|problem| error_of(member.problem(problem)))
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>> {
        let read = self.read(key, ByteRange::All, most)?;
        Ok(read.map(|bytes| Object::Bytes(Cow::Owned(bytes))))
    }

    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.members.range(prefix.clone()..).map(|(key, _)| key);
        let below = below.map_while(|key| key.strip_prefix(&prefix));
        let names: BTreeSet<&str> =
            below.filter_map(|rest| Some(rest.split_once('/')?.0)).collect();
        let names = names.into_iter();
        Ok(names.map(|name| Below { name: name.to_owned(), is_link: false }).collect())
    }

    fn write(&self, _: &str, _: Object<'_>) -> io::Result<u64> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}
