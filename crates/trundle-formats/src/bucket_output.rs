//! Zarr stores in buckets, which become visible only when they are complete.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
#[cfg(feature = "remote")]
use std::time::SystemTime;

#[cfg(feature = "remote")]
use trundle_remote::Remote;
use trundle_zarr::{Below, ByteRange, Object, ObjectStore, Stat, Store};

use crate::Problem;
use crate::bucket::{self, ADDING, Bucket, UNFINISHED};
use crate::lock::lock;
#[cfg(feature = "remote")]
use crate::remote_objects::Objects;
use crate::url::not_written;

/// The object that identifies the run that writes the store. All keys below the path of the store belong to that run.
const CLAIM: &str = ".trundle-unfinished/claim";

/// The name of the metadata objects, without which readers find no store.
const METADATA: &str = "zarr.json";

/// The largest size of a tag or a note in bytes.
pub(crate) const MOST_NOTE_BYTES: u64 = 16 << 20;

/// The unfinished stores of this process, to be removed if a signal ends it without running destructors.
static BEGUN: Mutex<Vec<Weak<BucketOutput>>> = Mutex::new(Vec::new());

/// A Zarr store that is being written to a bucket.
///
/// Objects cannot be renamed, so chunks are written to their final keys. [`finish`](BucketOutput::finish) then writes
/// the metadata, the root's metadata last, which makes the store visible. Dropping an unfinished store removes its objects
/// unless it is [kept](BucketOutput::keep).
#[derive(Debug)]
pub(crate) struct BucketOutput {
    pub(crate) objects: Arc<dyn Bucket>,
    /// The content of the claim.
    pub(crate) tag: String,
    /// The metadata by key, to be written at the end. A kept store has it in the bucket instead.
    metadata: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Whether other processes write to the store, or it is finished. Then nothing is removed.
    is_kept: AtomicBool,
    /// Writers hold this lock shared. The removal of the store takes it exclusively.
    writing: RwLock<()>,
}

/// Removes the unfinished stores of this process that are not kept, before a signal ends it. Threads that write to them
/// then wait for the end.
pub(crate) fn remove_begun() {
    let begun = std::mem::take(&mut *lock(&BEGUN));
    for output in begun.iter().filter_map(Weak::upgrade) {
        std::mem::forget(output.writing.write().unwrap_or_else(PoisonError::into_inner));
        output.remove();
        // Other threads still hold references, so the destructor must not run.
        std::mem::forget(output);
    }
}

#[cfg(feature = "remote")]
pub(crate) struct Unfinished {
    pub(crate) url: String,
    pub(crate) tag: String,
    pub(crate) bytes: u64,
    pub(crate) modified: SystemTime,
}

/// Lists the unfinished stores at a URL and in the folders directly below it.
///
/// # Errors
/// If the bucket cannot be read.
#[cfg(feature = "remote")]
pub(crate) fn leftovers(url: &str) -> io::Result<Vec<Unfinished>> {
    let url = url.trim_end_matches('/');
    let bucket = Remote::open(url)?;
    if bucket.is_http() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "HTTP servers have no unfinished stores",
        ));
    }
    let mut urls = vec![url.to_owned()];
    urls.extend(bucket.folders("")?.iter().map(|name| format!("{url}/{name}")));
    let mut left = Vec::new();
    for url in urls {
        let objects = Objects::open(&url)?;
        if let Some(Stat { bytes, modified: Some(modified), .. }) = objects.stat(ADDING)? {
            left.push(Unfinished { url: url.clone(), tag: ADDING.to_owned(), bytes, modified });
        }
        let Some(claim) = objects.read(CLAIM, ByteRange::All, MOST_NOTE_BYTES)? else { continue };
        let tag = String::from_utf8(claim)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let is_finished = objects.remote.stat(METADATA)?.is_some();
        let below = if is_finished { UNFINISHED } else { "" };
        let Some(all) = objects.remote.all_below(below)? else { continue };
        left.push(Unfinished { url, tag, bytes: all.bytes, modified: all.modified });
    }
    Ok(left)
}

impl BucketOutput {
    /// Checks that a store can be begun at a URL.
    ///
    /// # Errors
    /// [`Problem`] if the bucket cannot be read or the path is not empty. With `overwrite`, an unfinished store of an
    /// earlier run is not an error. A finished store is never replaced, because the old and the new store would be
    /// mixed for a time.
    pub(crate) fn check(url: &str, overwrite: bool) -> Result<(), Problem> {
        has_leftover(&*open(url)?, overwrite).map(drop)
    }

    /// Begins a store at a URL. The tag must be unique.
    ///
    /// # Errors
    /// The errors of [`BucketOutput::check`], and if the bucket cannot be written to.
    pub(crate) fn begin(
        url: &str,
        overwrite: bool,
        tag: &str,
    ) -> Result<Arc<BucketOutput>, Problem> {
        let objects = open(url)?;
        if has_leftover(&*objects, overwrite)? {
            clear(&*objects, "").map_err(removing)?;
        }
        if !is_made(&*objects, CLAIM, tag.as_bytes().to_vec(), tag)? {
            return Err(Problem::Unfinished);
        }
        let output = Arc::new(BucketOutput::new(objects, tag, false));
        let mut begun = lock(&BEGUN);
        begun.retain(|each| each.strong_count() > 0);
        begun.push(Arc::downgrade(&output));
        Ok(output)
    }

    /// Joins a [kept](BucketOutput::keep) store. If it is no longer being written, returns `Err(is_finished)`.
    ///
    /// # Errors
    /// [`Problem`] if the bucket cannot be read.
    pub(crate) fn join(url: &str, tag: &str) -> Result<Result<BucketOutput, bool>, Problem> {
        let objects = open(url)?;
        if is_claimed(&*objects, tag)? {
            return Ok(Ok(BucketOutput::new(objects, tag, true)));
        }
        let of_root = objects.tag(METADATA).map_err(Problem::opening)?;
        Ok(Err(of_root.as_deref() == Some(own(tag))))
    }

    /// Removes the store with this tag. If the store is finished, removes only the claim and the notes.
    ///
    /// # Errors
    /// [`Problem`] if an object cannot be removed.
    pub(crate) fn discard(url: &str, tag: &str) -> Result<(), Problem> {
        let objects = open(url)?;
        if tag == ADDING {
            return objects.remove(ADDING).map_err(removing);
        }
        if !is_claimed(&*objects, tag)? {
            return Ok(());
        }
        let is_finished = objects.tag(METADATA).map_err(Problem::opening)?.is_some();
        let below = if is_finished { UNFINISHED } else { "" };
        clear(&*objects, below).map_err(removing)
    }

    fn new(objects: Arc<dyn Bucket>, tag: &str, is_kept: bool) -> BucketOutput {
        let (metadata, is_kept) = (Mutex::default(), AtomicBool::new(is_kept));
        BucketOutput { objects, tag: tag.to_owned(), metadata, is_kept, writing: RwLock::default() }
    }

    /// Begins a write. During the removal of the store, waits for the end of the process instead.
    fn writing(&self) -> RwLockReadGuard<'_, ()> {
        self.writing.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the store, unless it is kept or another run has claimed its path.
    fn remove(&self) {
        if !self.is_kept() && self.is_there() {
            let _ = clear(&*self.objects, "");
        }
    }

    /// Leaves the store to processes that [join](BucketOutput::join) it: dropping it no longer removes it.
    ///
    /// # Errors
    /// [`Problem`] if the metadata cannot be written.
    pub(crate) fn keep(&self) -> Result<(), Problem> {
        let _writing = self.writing();
        let mut metadata: Vec<_> = std::mem::take(&mut *self.metadata()).into_iter().collect();
        // The metadata of a group comes before the metadata of its members.
        metadata.sort_by_key(|(key, _)| key.matches('/').count());
        for (key, bytes) in metadata {
            if self.objects.needs_metadata_first() {
                self.write_object(&key, &bytes)?;
            }
            self.write_object(&kept(&key), &bytes)?;
        }
        self.is_kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn write_object(&self, key: &str, bytes: &[u8]) -> Result<(), Problem> {
        self.objects.write(key, Object::Bytes(bytes.into())).map(drop).map_err(Problem::writing)
    }

    fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Writes the metadata, which makes the store visible to readers.
    ///
    /// # Errors
    /// [`Problem`] if the metadata cannot be written, or if another process has written a store at the same path.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        let _writing = self.writing();
        // Another run may now have claimed the path.
        if !self.is_there() {
            return Err(Problem::Busy);
        }
        let mut metadata = std::mem::take(&mut *self.metadata());
        if self.is_kept() {
            for key in self.objects.keys(&kept("")).map_err(Problem::reading)? {
                let read = self.objects.read(&key, ByteRange::All, MOST_NOTE_BYTES);
                let read = read.map_err(Problem::reading)?.unwrap_or_default();
                let own = key.strip_prefix(&kept("")).unwrap_or_default();
                metadata.insert(own.trim_start_matches('/').to_owned(), read);
            }
        }
        let root = metadata.remove(METADATA);
        for (key, bytes) in metadata {
            self.write_object(&key, &bytes)?;
        }
        if let Some(root) = root
            && !is_made(&*self.objects, METADATA, root, &self.tag)?
        {
            return Err(Problem::NotReplaced);
        }
        self.is_kept.store(true, Ordering::Relaxed);
        // In a finished store, the claim has no meaning. If it remains, the next run removes it.
        let _ = clear(&*self.objects, UNFINISHED);
        Ok(())
    }

    /// Returns whether the store is still claimed by this run: neither finished nor removed.
    pub(crate) fn is_there(&self) -> bool {
        is_claimed(&*self.objects, &self.tag).unwrap_or(false)
    }

    fn metadata(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        lock(&self.metadata)
    }
}

impl Drop for BucketOutput {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Opens the bucket of a URL. HTTP servers are refused.
fn open(url: &str) -> Result<Arc<dyn Bucket>, Problem> {
    let objects = bucket::open(url)?;
    match objects.is_listed() {
        true => Ok(objects),
        false => Err(not_written(url)),
    }
}

/// Returns whether the path contains the unfinished store of an interrupted run. Anything else is an error.
fn has_leftover(objects: &dyn Bucket, overwrite: bool) -> Result<bool, Problem> {
    if objects.is_empty().map_err(Problem::opening)? {
        return Ok(false);
    }
    if Store::is_in(objects)? {
        return Err(Problem::NotReplaced);
    }
    match objects.stat(CLAIM).map_err(Problem::opening)? {
        Some(_) if overwrite => Ok(true),
        Some(_) => Err(Problem::Unfinished),
        None => Err(Problem::OtherFolder),
    }
}

/// Removes all objects below a path, the claim last: if the removal fails, the claim still marks the rest as
/// unfinished.
fn clear(bucket: &dyn Bucket, path: &str) -> io::Result<()> {
    bucket.remove_below(path, CLAIM)?;
    bucket.remove(CLAIM)
}

fn is_claimed(objects: &dyn Bucket, tag: &str) -> Result<bool, Problem> {
    let claim = objects.read(CLAIM, ByteRange::All, MOST_NOTE_BYTES).map_err(Problem::opening)?;
    Ok(claim.as_deref() == Some(tag.as_bytes()))
}

/// Creates an object. Returns `false` if another run has already created it.
fn is_made(objects: &dyn Bucket, key: &str, bytes: Vec<u8>, tag: &str) -> Result<bool, Problem> {
    match objects.create(key, bytes, own(tag)) {
        Ok(()) => Ok(true),
        // A request is repeated if its answer was lost, and may then find the object that it created itself.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(objects.tag(key).map_err(Problem::reading)?.as_deref() == Some(own(tag)))
        }
        Err(error) => Err(Problem::writing(error)),
    }
}

/// Returns the random part of a tag: letters and digits.
fn own(tag: &str) -> &str {
    tag.rsplit_once('-').map_or(tag, |(_, own)| own)
}

fn is_metadata(key: &str) -> bool {
    Path::new(key).file_name().is_some_and(|name| name == METADATA)
}

/// Returns the key that the metadata of a kept store has until the store is finished.
fn kept(key: &str) -> String {
    let slash = if key.is_empty() { "" } else { "/" };
    format!("{UNFINISHED}/metadata{slash}{key}")
}

fn removing(source: io::Error) -> Problem {
    Problem::Io { doing: "remove the existing objects", source }
}

impl ObjectStore for BucketOutput {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        match self.metadata().get(key) {
            Some(value) => Ok(Some(Stat { bytes: value.len() as u64, modified: None, tag: None })),
            None => self.objects.stat(key),
        }
    }

    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>> {
        let value = self.metadata().get(key).cloned();
        if let Some(value) = value {
            let range = part.within(value.len() as u64, most)?;
            return Ok(Some(value[range.start as usize..range.end as usize].to_vec()));
        }
        match self.is_kept() && is_metadata(key) {
            true => self.objects.read(&kept(key), part, most),
            false => self.objects.read(key, part, most),
        }
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>> {
        self.objects.object(key, most)
    }

    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        self.objects.folders(path)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64> {
        if !is_metadata(key) {
            let _writing = self.writing();
            return self.objects.write(key, object);
        }
        let bytes = object.into_bytes()?;
        let written = bytes.len() as u64;
        self.metadata().insert(key.to_owned(), bytes);
        Ok(written)
    }
}
