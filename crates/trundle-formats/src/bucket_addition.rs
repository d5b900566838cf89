//! Additions to an existing Zarr store in a bucket, or in a store that the calling program registers.
//!
//! New chunks wait in the system's temporary folder until all are complete, so sources and the old array can be read
//! until then. Objects cannot be renamed: publishing writes each chunk to its key, and the metadata last. A chunk beyond
//! the old shape is invisible, and a replaced one keeps its old elements, so readers see the old array until then.
//!
//! A note in the store keeps other runs away. Once all chunks are there, it states which metadata is to be replaced.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use serde::{Deserialize, Serialize};
use trundle_zarr::{ByteRange, Folder, Object, ObjectStore, Store};

use crate::Problem;
use crate::addition::{CHUNKS, Changed, Earlier, Record, in_other_store};
use crate::bucket::{self, ADDING, Bucket};
use crate::lock::lock;
use crate::temporary_file::creating;
use crate::temporary_folder::TemporaryFolder;
use crate::url::{not_written, url_of};

/// The largest size in bytes of the note, which has the old and the new text of all changed metadata.
const MOST_BYTES: u64 = 1 << 30;

/// The number of chunks that are written at a time.
const REQUESTS: usize = 32;

/// The additions of this process, whose notes are removed if a signal ends it without running destructors.
static BEGUN: Mutex<Vec<Weak<Claim>>> = Mutex::new(Vec::new());

/// An addition that is being written.
#[derive(Debug)]
pub(crate) struct BucketAddition {
    claim: Arc<Claim>,
    folder: TemporaryFolder,
    /// The metadata that [`finish`](BucketAddition::finish) replaces.
    changed: Mutex<Vec<Changed>>,
}

/// The right of this run to change a store, as long as the store has its note.
#[derive(Debug)]
struct Claim {
    objects: Arc<dyn Bucket>,
    note: Note,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// Identifies the run.
    tag: String,
    /// Identifies the request.
    request: String,
    /// `None` until all chunks are written.
    record: Option<Record>,
}

impl Note {
    fn read(objects: &dyn Bucket) -> Result<Option<Note>, Problem> {
        let text = objects.read(ADDING, ByteRange::All, MOST_BYTES).map_err(Problem::reading)?;
        let read = |text: Vec<u8>| {
            let wrong =
                |error| Problem::Malformed(format!("{ADDING}: {error}: delete this object"));
            serde_json::from_slice(&text).map_err(wrong)
        };
        text.map(read).transpose()
    }

    fn text(&self) -> Result<Vec<u8>, Problem> {
        serde_json::to_vec(self).map_err(io::Error::from).map_err(Problem::writing)
    }
}

impl BucketAddition {
    /// Checks that something can be added to the store at a URL.
    ///
    /// # Errors
    /// [`Problem`] if there is no store, or another run adds to it.
    pub(crate) fn check(url: &str) -> Result<(), Problem> {
        match Note::read(&*open(url)?)? {
            Some(_) => Err(Problem::AddedTo),
            None => Ok(()),
        }
    }

    /// Begins an addition. The tags belong to the temporary folder and to the note. The note's tag must be unique.
    ///
    /// # Errors
    /// The errors of [`BucketAddition::check`], and if the bucket or the temporary folder cannot be written to.
    pub(crate) fn begin(
        url: &str,
        [of_folder, tag]: [&str; 2],
        request: &str,
    ) -> Result<BucketAddition, Problem> {
        let objects = open(url)?;
        let folder = TemporaryFolder::new(&std::env::temp_dir(), of_folder, "part")?;
        fs::create_dir(folder.path().join(CHUNKS)).map_err(creating)?;
        let note = Note { tag: tag.to_owned(), request: request.to_owned(), record: None };
        match objects.create(ADDING, note.text()?, tag) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A request is repeated if its answer was lost.
                if Note::read(&*objects)?.is_none_or(|found| found.tag != tag) {
                    return Err(Problem::AddedTo);
                }
            }
            Err(error) => return Err(Problem::writing(error)),
        }
        let claim = Arc::new(Claim { objects, note });
        let mut begun = lock(&BEGUN);
        begun.retain(|each| each.strong_count() > 0);
        begun.push(Arc::downgrade(&claim));
        Ok(BucketAddition { claim, folder, changed: Mutex::default() })
    }

    pub(crate) fn objects(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.claim.objects) as _
    }

    /// Returns the folder for the new chunks.
    pub(crate) fn chunks(&self) -> PathBuf {
        self.folder.path().join(CHUNKS)
    }

    pub(crate) fn set_changed(&self, changed: Vec<Changed>) {
        *lock(&self.changed) = changed;
    }

    /// Writes the chunks to the store and replaces its metadata.
    ///
    /// # Errors
    /// [`Problem`] if the metadata has changed since, or an object cannot be written.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        let changed = std::mem::take(&mut *lock(&self.changed));
        self.claim.publish(&self.chunks(), changed)
    }
}

impl Claim {
    fn publish(&self, chunks: &Path, changed: Vec<Changed>) -> Result<(), Problem> {
        if !self.is_own()? {
            return Err(Problem::Busy);
        }
        let objects = &*self.objects;
        let Note { tag, request, .. } = &self.note;
        let record = Record::new(request, changed);
        check(objects, &record, false)?;
        let mut files = Vec::new();
        list(chunks, "", &mut files).map_err(Problem::reading)?;
        if objects.needs_metadata_first() {
            // The store refuses chunks beyond the shape. Its other readers see changes only after a commit.
            let written = replace(objects, &record.changed).and_then(|()| copy(&files, objects));
            return written.inspect_err(|_| {
                for Changed { key, before, .. } in &record.changed {
                    let _ = write(objects, key, before.as_bytes());
                }
            });
        }
        copy(&files, objects)?;
        let note = Note { tag: tag.clone(), request: request.clone(), record: Some(record) };
        write(objects, ADDING, &note.text()?)?;
        replace(objects, note.record.iter().flat_map(|record| &record.changed))?;
        objects.remove(ADDING).map_err(Problem::writing)
    }

    fn is_own(&self) -> Result<bool, Problem> {
        Ok(Note::read(&*self.objects)?.is_some_and(|note| note.tag == self.note.tag))
    }

    /// Removes the note, unless some metadata may be new and some old.
    fn forget(&self) {
        let note = Note::read(&*self.objects);
        let is_old = |note: &Note| note.tag == self.note.tag && note.record.is_none();
        if note.is_ok_and(|note| note.as_ref().is_some_and(is_old)) {
            let _ = self.objects.remove(ADDING);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Removes the notes of this process, before a signal ends it.
pub(crate) fn forget_begun() {
    let begun = std::mem::take(&mut *lock(&BEGUN));
    for claim in begun.iter().filter_map(Weak::upgrade) {
        claim.forget();
        // Other threads still hold references, so the destructor must not run.
        std::mem::forget(claim);
    }
}

/// Lists the files below a folder, each with its path in the folder.
fn list(folder: &Path, below: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let key = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{key}/"), files)?,
            false => files.push((key, entry.path())),
        }
    }
    Ok(())
}

/// Writes files to the keys of a store, several at a time.
fn copy(files: &[(String, PathBuf)], objects: &dyn Bucket) -> Result<(), Problem> {
    let (next, failed) = (Mutex::new(files.iter()), AtomicBool::new(false));
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let Some((key, path)) = lock(&next).next() else { break };
            let file = File::open(path).map_err(Problem::reading);
            let written = file
                .and_then(|file| objects.write(key, Object::File(file)).map_err(Problem::writing));
            if written.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            written?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (1..REQUESTS.min(files.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(own, Result::and)
    })
}

/// Finds what an earlier run left in the store at a URL, and finishes it if all its chunks are there.
///
/// # Errors
/// [`Problem`] if the metadata has changed since, or cannot be replaced.
pub(crate) fn resume(url: &str, request: &str) -> Result<Earlier, Problem> {
    let objects = open(url)?;
    let Some(note) = Note::read(&*objects)? else { return Ok(Earlier::Nothing) };
    let found = match &note.record {
        Some(record) => {
            check(&*objects, record, true)?;
            replace(&*objects, &record.changed)?;
            record.earlier(request)
        }
        None if note.request == request => Earlier::Begun,
        // It may have replaced some chunks of a region.
        None => return Err(Problem::OtherBegun),
    };
    objects.remove(ADDING).map_err(Problem::writing)?;
    Ok(found)
}

/// Returns the objects of the store at a path or URL.
///
/// # Errors
/// [`Problem`] if the URL or the settings are invalid.
pub(crate) fn objects_of(path: &Path) -> Result<Arc<dyn ObjectStore>, Problem> {
    match url_of(path) {
        Some(url) => Ok(bucket::open(url)?),
        None => Ok(Arc::new(Folder::new(path))),
    }
}

/// Opens the store at a URL, which no other store may contain.
fn open(url: &str) -> Result<Arc<dyn Bucket>, Problem> {
    let objects = bucket::open(url)?;
    if !objects.is_listed() {
        return Err(not_written(url));
    }
    if !Store::is_in(&*objects)? {
        return Err(Problem::NoStore);
    }
    let url = url.trim_end_matches('/');
    let scheme = url.find("://").map_or(0, |at| at + "://".len());
    let outer = url.rmatch_indices('/').map(|(end, _)| &url[..end]);
    for outer in outer.take_while(|outer| outer.len() > scheme) {
        // Without the right to read there, the user has no store there either.
        let is_store = bucket::open(outer).map(|objects| Store::is_in(&*objects));
        if matches!(is_store, Ok(Ok(true))) {
            return Err(in_other_store(outer));
        }
    }
    Ok(objects)
}

/// Checks that the metadata has its old text, or its new one if `is_replaced` is true.
fn check(objects: &dyn Bucket, record: &Record, is_replaced: bool) -> Result<(), Problem> {
    for changed in &record.changed {
        let found = objects.read(&changed.key, ByteRange::All, MOST_BYTES);
        changed.check_text(&found.map_err(Problem::reading)?.unwrap_or_default(), is_replaced)?;
    }
    Ok(())
}

/// Writes the new text of each metadata object that changes.
fn replace<'a>(
    objects: &dyn Bucket,
    changed: impl IntoIterator<Item = &'a Changed>,
) -> Result<(), Problem> {
    let mut changed = changed.into_iter().filter(|own| own.before != own.after);
    changed.try_for_each(|own| write(objects, &own.key, own.after.as_bytes()))
}

fn write(objects: &dyn Bucket, key: &str, bytes: &[u8]) -> Result<(), Problem> {
    objects.write(key, Object::Bytes(bytes.into())).map(drop).map_err(Problem::writing)
}
