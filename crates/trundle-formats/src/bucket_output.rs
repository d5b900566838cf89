//! Outputs in buckets, which appear whole or not at all.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trundle_s3::{Bucket, New};
use trundle_zarr::{Below, Object, Part, Stat, Storage, Store};

use crate::temporary_name::random_tag;
use crate::zarr::{Objects, in_memory};
use crate::{Problem, zarr};

/// The object that says that a store is being written, and what is written below it is nobody else's.
const CLAIM: &str = ".trundle-unfinished";

/// The objects without which a store is none.
const METADATA: &str = "zarr.json";

/// A store that is written to a bucket. Nothing there can be renamed, and so its chunks are written where they
/// stay; but as long as there is no metadata nobody finds a store there, and that is written when it is
/// [finished](BucketOutput::finish), of the root last. All is removed if it is dropped before.
#[derive(Debug)]
pub(crate) struct BucketOutput {
    objects: Objects,
    /// What is written at the end, by its keys.
    metadata: Mutex<BTreeMap<String, Vec<u8>>>,
    is_finished: AtomicBool,
}

/// What there is at the place of an output.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// What a run that ended early has left, or one that has not ended writes.
    Unfinished,
}

impl BucketOutput {
    /// Checks that a store can be begun at a URL.
    ///
    /// # Errors
    /// [`Problem`] if it cannot: the bucket cannot be read, or there is something. What a run has left that ended
    /// early makes room if `overwrite` is set; a store never does, as both could not be whole at once.
    pub(crate) fn check(url: &str, overwrite: bool) -> Result<(), Problem> {
        let bucket = Bucket::open(url).map_err(opening)?;
        find(&Objects(bucket), overwrite).map(drop)
    }

    /// Begins a store at a URL.
    ///
    /// # Errors
    /// As [`BucketOutput::check`], and if the bucket cannot be written to.
    pub(crate) fn begin(url: &str, overwrite: bool) -> Result<BucketOutput, Problem> {
        let objects = Objects(Bucket::open(url).map_err(opening)?);
        if find(&objects, overwrite)? == Found::Unfinished {
            objects.0.remove_all().map_err(removing)?;
        }
        let claim = random_tag("writes a store here, as").into_bytes();
        if !is_made(&objects, CLAIM, claim)? {
            return Err(Problem::Unfinished);
        }
        let (metadata, is_finished) = (Mutex::default(), AtomicBool::new(false));
        Ok(BucketOutput { objects, metadata, is_finished })
    }

    /// Writes the metadata, by which the store is there.
    ///
    /// # Errors
    /// [`Problem`] if it cannot be written, or another has written a store there meanwhile.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        let mut metadata = std::mem::take(&mut *self.metadata());
        let root = metadata.remove(METADATA);
        let bucket = &self.objects.0;
        for (key, bytes) in metadata {
            bucket.write(&key, bytes, New::OrReplace).map_err(Problem::writing)?;
        }
        if let Some(root) = root
            && !is_made(&self.objects, METADATA, root)?
        {
            return Err(Problem::NotReplaced);
        }
        self.is_finished.store(true, Ordering::Relaxed);
        // Beside a store that is whole it means nothing.
        let _ = bucket.remove(CLAIM);
        Ok(())
    }

    fn metadata(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.metadata.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BucketOutput {
    fn drop(&mut self) {
        if !self.is_finished.load(Ordering::Relaxed) {
            // What cannot be removed is still known by the claim, which goes last.
            let _ =
                self.objects.0.remove_all_but(CLAIM).and_then(|()| self.objects.0.remove(CLAIM));
        }
    }
}

/// What there is.
fn find(objects: &Objects, overwrite: bool) -> Result<Found, Problem> {
    if objects.0.keys(1).map_err(opening)?.is_empty() {
        return Ok(Found::Nothing);
    }
    if Store::is_in(objects).map_err(zarr::problem)? {
        return Err(Problem::NotReplaced);
    }
    match objects.0.stat(CLAIM).map_err(opening)? {
        Some(_) if overwrite => Ok(Found::Unfinished),
        Some(_) => Err(Problem::Unfinished),
        None => Err(Problem::OtherFolder("zarr")),
    }
}

/// Makes an object where there is none, and says whether it is this one.
fn is_made(objects: &Objects, key: &str, bytes: Vec<u8>) -> Result<bool, Problem> {
    let most = bytes.len() as u64;
    match objects.0.write(key, bytes.clone(), New::Only) {
        Ok(()) => Ok(true),
        // A request whose answer was lost is made again, and finds what it made itself.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match objects.read(key, Part::All, most) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
                found => Ok(found.map_err(Problem::reading)? == Some(bytes)),
            }
        }
        Err(error) => Err(Problem::writing(error)),
    }
}

/// Whether the metadata of this key says that there is an array or a group.
fn is_metadata(key: &str) -> bool {
    Path::new(key).file_name().is_some_and(|name| name == METADATA)
}

fn opening(source: io::Error) -> Problem {
    Problem::Io { doing: "open", source }
}

fn removing(source: io::Error) -> Problem {
    Problem::Io { doing: "remove what is there", source }
}

impl Storage for BucketOutput {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        match self.metadata().get(key) {
            Some(held) => Ok(Some(Stat { bytes: held.len() as u64, modified: None })),
            None => self.objects.stat(key),
        }
    }

    fn read(&self, key: &str, part: Part, most: u64) -> io::Result<Option<Vec<u8>>> {
        let held = self.metadata().get(key).cloned();
        let Some(held) = held else { return self.objects.read(key, part, most) };
        let range = part.within(held.len() as u64, most)?;
        Ok(Some(held[range.start as usize..range.end as usize].to_vec()))
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object>> {
        self.objects.object(key, most)
    }

    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        self.objects.folders(path)
    }

    fn write(&self, key: &str, object: Object) -> io::Result<u64> {
        if !is_metadata(key) {
            return self.objects.write(key, object);
        }
        let bytes = in_memory(object)?;
        let written = bytes.len() as u64;
        self.metadata().insert(key.to_owned(), bytes);
        Ok(written)
    }
}
