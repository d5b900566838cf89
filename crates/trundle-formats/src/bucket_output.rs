//! Outputs in buckets, which appear whole or not at all.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::SystemTime;

use trundle_s3::{Bucket, New};
use trundle_zarr::{Below, Object, ObjectStore, Part, Stat, Store};

use crate::Problem;
use crate::bucket_objects::{Objects, in_memory};
use crate::lock::lock;

/// What the keys of all begin with that is there only as long as a store is not finished.
const UNFINISHED: &str = ".trundle-unfinished";

/// The object that says by which processes a store is being written: what is below it is nobody else's.
const CLAIM: &str = ".trundle-unfinished/claim";

/// The objects without which a store is none.
const METADATA: &str = "zarr.json";

/// The bytes of a tag or of a note, at most.
const MOST_NOTE_BYTES: u64 = 16 << 20;

/// Those that are begun, for the end of a program that drops nothing.
static BEGUN: Mutex<Vec<Weak<BucketOutput>>> = Mutex::new(Vec::new());

/// A store that is written to a bucket. Nothing there can be renamed, and so its chunks are written where they
/// stay; but as long as there is no metadata nobody finds a store there, and that is written when it is
/// [finished](BucketOutput::finish), of the root last. All is removed if it is dropped before, unless it is
/// [kept](BucketOutput::keep).
#[derive(Debug)]
pub(crate) struct BucketOutput {
    objects: Objects,
    /// What the claim says.
    tag: String,
    /// What is written at the end, by its keys; of one that is kept, it is in the bucket.
    metadata: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Nothing is removed: others write to it, or it is finished.
    is_kept: AtomicBool,
    /// Shared by all who write, and alone that of who removes what they wrote.
    writing: RwLock<()>,
}

/// Removes what stores are begun that are not finished, but for those that are kept: for a program that is about to
/// end by a signal. Who writes to one of them waits for that end.
pub(crate) fn remove_begun() {
    let begun = std::mem::take(&mut *BEGUN.lock().unwrap_or_else(PoisonError::into_inner));
    for output in begun.iter().filter_map(Weak::upgrade) {
        std::mem::forget(output.writing.write().unwrap_or_else(PoisonError::into_inner));
        output.remove();
        // Its threads have it still, and so must this until they end.
        std::mem::forget(output);
    }
}

/// A store in a bucket that a run has begun and not finished.
pub(crate) struct Unfinished {
    pub(crate) url: String,
    /// The text of the claim.
    pub(crate) tag: String,
    pub(crate) bytes: u64,
    pub(crate) modified: SystemTime,
}

/// Lists the unfinished stores at a URL and in the folders there.
///
/// # Errors
/// If the bucket cannot be read.
pub(crate) fn leftovers(url: &str) -> io::Result<Vec<Unfinished>> {
    let url = url.trim_end_matches('/');
    let bucket = Bucket::open(url)?;
    let mut urls = vec![url.to_owned()];
    urls.extend(bucket.folders("")?.iter().map(|name| format!("{url}/{name}")));
    let mut left = Vec::new();
    for url in urls {
        let objects = Objects(Arc::new(Bucket::open(&url)?));
        let Some(claim) = objects.read(CLAIM, Part::All, MOST_NOTE_BYTES)? else { continue };
        let tag = String::from_utf8(claim)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let is_finished = objects.0.stat(METADATA)?.is_some();
        let below = if is_finished { UNFINISHED } else { "" };
        let Some(all) = objects.0.all_below(below)? else { continue };
        left.push(Unfinished { url, tag, bytes: all.bytes, modified: all.modified });
    }
    Ok(left)
}

impl BucketOutput {
    /// Checks that a store can be begun at a URL.
    ///
    /// # Errors
    /// [`Problem`] if it cannot: the bucket cannot be read, or there is something. What a run has left makes room
    /// if `overwrite` is set; a store never does, as both could not be whole at once.
    pub(crate) fn check(url: &str, overwrite: bool) -> Result<(), Problem> {
        has_leftover(&open(url)?, overwrite).map(drop)
    }

    /// Begins a store at a URL, under a tag that no other has.
    ///
    /// # Errors
    /// As [`BucketOutput::check`], and if the bucket cannot be written to.
    pub(crate) fn begin(
        url: &str,
        overwrite: bool,
        tag: &str,
    ) -> Result<Arc<BucketOutput>, Problem> {
        let objects = open(url)?;
        if has_leftover(&objects, overwrite)? {
            clear(&objects.0, "").map_err(removing)?;
        }
        if !is_made(&objects, CLAIM, tag.as_bytes().to_vec(), tag)? {
            return Err(Problem::Unfinished);
        }
        let output = Arc::new(BucketOutput::new(objects, tag, false));
        let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|each| each.strong_count() > 0);
        begun.push(Arc::downgrade(&output));
        Ok(output)
    }

    /// The store that was begun like this and is [kept](BucketOutput::keep); `Err` of whether it is finished.
    ///
    /// # Errors
    /// [`Problem`] if the bucket cannot be read.
    pub(crate) fn join(url: &str, tag: &str) -> Result<Result<BucketOutput, bool>, Problem> {
        let objects = open(url)?;
        if is_claimed(&objects, tag)? {
            return Ok(Ok(BucketOutput::new(objects, tag, true)));
        }
        let of_root = objects.0.tag(METADATA).map_err(opening)?;
        Ok(Err(of_root.as_deref() == Some(own(tag))))
    }

    /// Removes what was begun like this, unless it is finished.
    ///
    /// # Errors
    /// [`Problem`] if it cannot be removed.
    pub(crate) fn discard(url: &str, tag: &str) -> Result<(), Problem> {
        let objects = open(url)?;
        if !is_claimed(&objects, tag)? {
            return Ok(());
        }
        // Of one that is finished, only this was left.
        let is_finished = objects.0.tag(METADATA).map_err(opening)?.is_some();
        let below = if is_finished { UNFINISHED } else { "" };
        clear(&objects.0, below).map_err(removing)
    }

    fn new(objects: Objects, tag: &str, is_kept: bool) -> BucketOutput {
        let (metadata, is_kept) = (Mutex::default(), AtomicBool::new(is_kept));
        BucketOutput { objects, tag: tag.to_owned(), metadata, is_kept, writing: RwLock::default() }
    }

    /// Does what writes, or waits for the end of a program that removes what was written.
    fn writes<T>(&self, write: impl FnOnce() -> T) -> T {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        write()
    }

    /// Removes all of it, unless it is kept or somebody else has begun there since.
    fn remove(&self) {
        if !self.is_kept() && self.is_there() {
            let _ = clear(&self.objects.0, "");
        }
    }

    /// Leaves what is there to those who [join](BucketOutput::join).
    ///
    /// # Errors
    /// [`Problem`] if what they need cannot be written.
    pub(crate) fn keep(&self) -> Result<(), Problem> {
        self.writes(|| self.keep_all())
    }

    fn keep_all(&self) -> Result<(), Problem> {
        for (key, bytes) in std::mem::take(&mut *self.metadata()) {
            let written = self.objects.0.write(&kept(&key), bytes, New::OrReplace);
            written.map_err(Problem::writing)?;
        }
        self.is_kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// What the claim says.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Writes the metadata, by which the store is there.
    ///
    /// # Errors
    /// [`Problem`] if it cannot be written, or another has written a store there meanwhile.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        self.writes(|| self.finish_all())
    }

    fn finish_all(&self) -> Result<(), Problem> {
        // Somebody else may have begun there anew.
        if !self.is_there() {
            return Err(Problem::Busy);
        }
        let bucket = &self.objects.0;
        let mut metadata = std::mem::take(&mut *self.metadata());
        if self.is_kept() {
            for key in bucket.keys(&kept(""), usize::MAX).map_err(Problem::reading)? {
                let read = self.objects.read(&key, Part::All, MOST_NOTE_BYTES);
                let read = read.map_err(Problem::reading)?.unwrap_or_default();
                let own = key.strip_prefix(&kept("")).unwrap_or_default();
                metadata.insert(own.trim_start_matches('/').to_owned(), read);
            }
        }
        let root = metadata.remove(METADATA);
        for (key, bytes) in metadata {
            bucket.write(&key, bytes, New::OrReplace).map_err(Problem::writing)?;
        }
        if let Some(root) = root
            && !is_made(&self.objects, METADATA, root, &self.tag)?
        {
            return Err(Problem::NotReplaced);
        }
        self.is_kept.store(true, Ordering::Relaxed);
        // Beside a store that is whole it means nothing, and the next to ask for it removes it.
        let _ = clear(bucket, UNFINISHED);
        Ok(())
    }

    /// Whether nobody has finished or removed it.
    pub(crate) fn is_there(&self) -> bool {
        is_claimed(&self.objects, &self.tag).unwrap_or(false)
    }

    /// The text that was noted under a name.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn noted(&self, name: &str) -> io::Result<Option<String>> {
        let read = self.objects.read(&note(name), Part::All, MOST_NOTE_BYTES)?;
        let text = read.map(String::from_utf8).transpose();
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Notes a text under a name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn note(&self, name: &str, text: &str) -> io::Result<()> {
        self.objects.0.write(&note(name), text.as_bytes().to_vec(), New::OrReplace)
    }

    /// Forgets what was noted under a name.
    pub(crate) fn unnote(&self, name: &str) {
        // If nothing was, so much the better.
        let _ = self.objects.0.remove(&note(name));
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

fn open(url: &str) -> Result<Objects, Problem> {
    Ok(Objects(Arc::new(Bucket::open(url).map_err(opening)?)))
}

/// Whether there is what a run has left that ended early, where there may be nothing else.
fn has_leftover(objects: &Objects, overwrite: bool) -> Result<bool, Problem> {
    if objects.0.keys("", 1).map_err(opening)?.is_empty() {
        return Ok(false);
    }
    if Store::is_in(objects)? {
        return Err(Problem::NotReplaced);
    }
    match objects.0.stat(CLAIM).map_err(opening)? {
        Some(_) if overwrite => Ok(true),
        Some(_) => Err(Problem::Unfinished),
        None => Err(Problem::OtherFolder),
    }
}

/// Removes what is below a path, and the claim last: by it the next who asks knows what could not be removed.
fn clear(bucket: &Bucket, path: &str) -> io::Result<()> {
    bucket.remove_below(path, CLAIM)?;
    bucket.remove(CLAIM)
}

/// Whether what is there is being written under this tag.
fn is_claimed(objects: &Objects, tag: &str) -> Result<bool, Problem> {
    let claim = objects.read(CLAIM, Part::All, MOST_NOTE_BYTES).map_err(opening)?;
    Ok(claim.as_deref() == Some(tag.as_bytes()))
}

/// Makes an object where there is none, and says whether it is this one.
fn is_made(objects: &Objects, key: &str, bytes: Vec<u8>, tag: &str) -> Result<bool, Problem> {
    match objects.0.write_tagged(key, bytes, New::Only, own(tag)) {
        Ok(()) => Ok(true),
        // A request whose answer was lost is made again, and finds what it made itself.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(objects.0.tag(key).map_err(Problem::reading)?.as_deref() == Some(own(tag)))
        }
        Err(error) => Err(Problem::writing(error)),
    }
}

/// What of a tag no other has: letters and digits.
fn own(tag: &str) -> &str {
    tag.rsplit_once('-').map_or(tag, |(_, own)| own)
}

/// Whether the metadata of this key says that there is an array or a group.
fn is_metadata(key: &str) -> bool {
    Path::new(key).file_name().is_some_and(|name| name == METADATA)
}

/// Where metadata is until the store is finished.
fn kept(key: &str) -> String {
    let slash = if key.is_empty() { "" } else { "/" };
    format!("{UNFINISHED}/metadata{slash}{key}")
}

/// Where a note is.
fn note(name: &str) -> String {
    format!("{UNFINISHED}/notes/{name}")
}

fn opening(source: io::Error) -> Problem {
    Problem::Io { doing: "open", source }
}

fn removing(source: io::Error) -> Problem {
    Problem::Io { doing: "remove what is there", source }
}

impl ObjectStore for BucketOutput {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        match self.metadata().get(key) {
            Some(held) => Ok(Some(Stat { bytes: held.len() as u64, modified: None })),
            None => self.objects.stat(key),
        }
    }

    fn read(&self, key: &str, part: Part, most: u64) -> io::Result<Option<Vec<u8>>> {
        let held = self.metadata().get(key).cloned();
        if let Some(held) = held {
            let range = part.within(held.len() as u64, most)?;
            return Ok(Some(held[range.start as usize..range.end as usize].to_vec()));
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
            return self.writes(|| self.objects.write(key, object));
        }
        let bytes = in_memory(object)?;
        let written = bytes.len() as u64;
        self.metadata().insert(key.to_owned(), bytes);
        Ok(written)
    }
}
