//! Additions to an existing Zarr store in a folder: chunks and metadata that are complete before any of them is moved
//! into it. [`BucketAddition`] adds to stores elsewhere.
//!
//! The hidden folder of an addition has the new chunks below `chunks`, under the keys that they have in the store, and
//! a record of the metadata that changes. Publishing it renames each chunk into the store, then each metadata object,
//! and removes the folder. Every step can be repeated, so a run that was killed can be continued.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(feature = "zarr")]
use crate::bucket_addition::{BucketAddition, resume};
use crate::file_identity::id_of;
use crate::file_lock::{Kind, open_locked};
use crate::format::FolderFormat;
use crate::leftover::{LeftoverState, leftovers};
use crate::names::folder_of;
use crate::output::{find_folder_destination, sync_folder};
use crate::rename::rename;
use crate::temporary_file::creating;
use crate::temporary_folder::{TemporaryFolder, sync_below};
use crate::temporary_name::{TemporaryName, output_tag, random_tag};
use crate::url::url_of;
use crate::{Error, Format, Problem, Shown};

/// The ending of the folder of a complete addition that is being published.
pub(crate) const ENDING: &str = "append";

pub(crate) const CHUNKS: &str = "chunks";
const RECORD: &str = "record.json";

/// The name in the store of an empty file that is moved there and back.
const TRIAL: &str = ".trundle-trial";

/// The record in the hidden folder of an addition.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The text that identifies the request.
    request: String,
    /// The metadata objects of the arrays and of the groups that change, in the order in which they are replaced.
    pub(crate) changed: Vec<Changed>,
}

/// A metadata object.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Changed {
    pub(crate) key: String,
    /// The [identifier](id_of) of its folder, if the system reports one.
    folder: Option<String>,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Changed {
    /// Describes a metadata object of a store in a folder, or elsewhere if `store` is `None`.
    #[cfg(feature = "zarr")]
    pub(crate) fn new(store: Option<&Path>, changed: trundle_zarr::ChangedMetadata) -> Changed {
        let trundle_zarr::ChangedMetadata { key, before, after } = changed;
        let folder = store.and_then(|store| id_of(folder_of(&store.join(&key))));
        Changed { key, folder, before, after }
    }

    /// Checks that the object has its old text, or its new one if `is_moved` is true, and is in the same folder.
    fn check(&self, store: &Path, is_moved: bool) -> Result<(), Problem> {
        let path = store.join(&self.key);
        self.check_text(&fs::read(&path).map_err(Problem::reading)?, is_moved)?;
        let folder = id_of(folder_of(&path));
        match self.folder == folder || self.folder.is_none() || folder.is_none() {
            true => Ok(()),
            false => Err(self.differs()),
        }
    }

    /// Checks that `found` is the old text of the object, or its new one if `is_moved` is true.
    pub(crate) fn check_text(&self, found: &[u8], is_moved: bool) -> Result<(), Problem> {
        match found == self.before.as_bytes() || is_moved && found == self.after.as_bytes() {
            true => Ok(()),
            false => Err(self.differs()),
        }
    }

    fn differs(&self) -> Problem {
        Problem::ChangedStore(Shown(&self.key).to_string())
    }
}

/// The state of an addition that an earlier run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// No earlier run of this request has left anything.
    Nothing,
    /// A run of this request was interrupted before it changed the store. It can be done again.
    Begun,
    /// A run of this request was interrupted while it changed the store. This call has finished it.
    Finished,
    /// A run of another request was interrupted while it changed the store. This call has finished it.
    OtherFinished,
}

impl Record {
    #[cfg(feature = "zarr")]
    pub(crate) fn new(request: &str, changed: Vec<Changed>) -> Record {
        Record { request: request.to_owned(), changed }
    }

    #[cfg(feature = "zarr")]
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Problem> {
        let text = serde_json::to_vec(self).map_err(io::Error::from).map_err(Problem::writing)?;
        let mut file = File::create_new(folder.join(RECORD)).map_err(creating)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(Problem::writing)
    }

    fn read(folder: &Path) -> Result<Record, Problem> {
        let path = folder.join(RECORD);
        let text = fs::read(&path).map_err(Problem::reading)?;
        serde_json::from_slice(&text).map_err(|error| {
            let path = path.display().to_string();
            let remedy = "\"trundle clean --force FOLDER\" removes it";
            Problem::Malformed(format!("{}: {error}; {remedy}", Shown(&path)))
        })
    }

    /// Returns what a call for `request` has done when it has finished the addition with this record.
    pub(crate) fn earlier(&self, request: &str) -> Earlier {
        if self.request == request { Earlier::Finished } else { Earlier::OtherFinished }
    }

    /// Checks the metadata objects with [`Changed::check`].
    fn check(&self, store: &Path, is_moved: bool) -> Result<(), Problem> {
        self.changed.iter().try_for_each(|changed| changed.check(store, is_moved))
    }
}

/// Returns the folder of the store at `path`, to which an output in `format` can be added.
///
/// # Errors
/// [`Problem`] if it is not such a store, or its folder accepts no new files.
pub(crate) fn destination(
    path: &Path,
    format: &Format,
) -> Result<(PathBuf, FolderFormat), Problem> {
    let only = "nothing can be added to it: only existing Zarr stores can grow";
    let folder = format.folder.filter(|_| url_of(path).is_none());
    let folder = folder.ok_or_else(|| Problem::unsupported(only))?;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() && (folder.is_one)(path) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Problem::NoStore),
        Err(error) => return Err(Problem::reading(error)),
        Ok(_) => return Err(Problem::unsupported(only)),
    }
    let store = find_folder_destination(path, true, folder)?;
    check_outermost(&store, folder.is_one)?;
    Ok((store, folder))
}

/// Checks that no other store contains this one. Two runs must not change one array under two names, and consolidated
/// metadata above an array would keep the old shape.
fn check_outermost(store: &Path, is_one: fn(&Path) -> bool) -> Result<(), Problem> {
    let store = fs::canonicalize(store).map_err(Problem::reading)?;
    match store.ancestors().skip(1).filter(|folder| is_one(folder)).last() {
        None => Ok(()),
        Some(outer) => Err(in_other_store(&outer.display().to_string())),
    }
}

/// Returns the error that another store contains the output.
pub(crate) fn in_other_store(outer: &str) -> Problem {
    Problem::Unsupported(format!(
        "is in the Zarr store {}: give this store as the output, and name the tensor like the array",
        Shown(outer)
    ))
}

/// Checks that something can be added to the store at `path`, and that no earlier addition is half published.
///
/// # Errors
/// [`Error`] with the reason.
pub fn check_addition(format: &Format, path: &Path) -> Result<(), Error> {
    let check = || {
        #[cfg(feature = "zarr")]
        if let Some(url) = url_of(path) {
            return BucketAddition::check(url);
        }
        let (store, _) = destination(path, format)?;
        if folders(&store, ENDING)?.next().is_some() {
            return Err(Problem::HalfAdded);
        }
        let tag = random_tag(&tag_of(&store));
        TemporaryFolder::new(folder_of(&store), &tag, "check").map(drop)
    };
    check().map_err(|problem| Error::at(path, "stdout", problem))
}

/// Finds what an earlier run left next to the store at `path`, and finishes it if it is complete.
///
/// # Errors
/// [`Error`] if the store has changed since, or the addition cannot be finished.
pub fn continue_addition(format: &Format, path: &Path, request: &str) -> Result<Earlier, Error> {
    let find = || {
        #[cfg(feature = "zarr")]
        if let Some(url) = url_of(path) {
            return resume(url, request);
        }
        let (store, _) = destination(path, format)?;
        if let Some((complete, record)) = half_published(&store)? {
            let _locked = open_locked(&complete, Kind::Folder)?;
            publish(&complete, &record, &store)?;
            return Ok(record.earlier(request));
        }
        // Another run may have finished the same request since.
        let is_same = |folder: PathBuf| {
            let record = Record::read(&folder);
            record.is_ok_and(|own| own.request == request && own.check(&store, false).is_ok())
        };
        let is_begun = folders(&store, "part")?.any(is_same);
        Ok(if is_begun { Earlier::Begun } else { Earlier::Nothing })
    };
    find().map_err(|problem| Error::at(path, "stdout", problem))
}

/// Removes what an interrupted addition to the store left, because another store has replaced it.
pub(crate) fn forget(store: &Path) {
    for folder in folders(store, ENDING).into_iter().flatten() {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns the folder and the record of an addition that is half published, if no process uses it.
fn half_published(store: &Path) -> Result<Option<(PathBuf, Record)>, Problem> {
    for complete in folders(store, ENDING)? {
        if complete.join(RECORD).exists() {
            return Record::read(&complete).map(|record| Some((complete, record)));
        }
        // The record is removed last, so nothing is left to do.
        fs::remove_dir_all(complete).map_err(renaming)?;
    }
    Ok(None)
}

fn tag_of(store: &Path) -> String {
    output_tag(store.file_name().unwrap_or_default())
}

/// Returns the hidden folders with this ending next to a store.
fn folders(store: &Path, ending: &'static str) -> Result<impl Iterator<Item = PathBuf>, Problem> {
    let left = leftovers(folder_of(store), Some(&tag_of(store))).map_err(Problem::reading)?;
    let left = left.into_iter().filter(|left| left.state != LeftoverState::InUse);
    let files = left.flat_map(|left| left.files);
    Ok(files.filter(move |file| file.ending == ending).map(|file| file.path))
}

/// Publishes a complete addition. The folder gets another name first, so that a later run can continue.
///
/// # Errors
/// [`Problem`] if the store has changed, or a file cannot be renamed.
pub(crate) fn finish(folder: &TemporaryFolder, tag: &str, store: &Path) -> Result<(), Problem> {
    let record = Record::read(folder.path())?;
    record.check(store, false)?;
    for Changed { key, .. } in &record.changed {
        check_move(folder_of(&store.join(key)), folder.path())?;
    }
    check_moves(&folder.path().join(CHUNKS), store, folder.path())?;
    let complete = folder_of(store).join(TemporaryName::of(tag, ENDING));
    rename(folder.path(), &complete).map_err(renaming)?;
    sync_folder(folder_of(store));
    publish(&complete, &record, store)
}

/// Checks that files can be moved from `own` into the folders of the store that get chunks, and back.
fn check_moves(from: &Path, to: &Path, own: &Path) -> Result<(), Problem> {
    if fs::symlink_metadata(to).is_ok() {
        check_move(to, own)?;
    }
    for entry in fs::read_dir(from).map_err(Problem::reading)? {
        let entry = entry.map_err(Problem::reading)?;
        if entry.file_type().map_err(Problem::reading)?.is_dir() {
            check_moves(&entry.path(), &to.join(entry.file_name()), own)?;
        }
    }
    Ok(())
}

/// Checks that a file can be moved from the folder `own` into the folder `to`, and back.
fn check_move(to: &Path, own: &Path) -> Result<(), Problem> {
    let (trial, moved) = (own.join("trial"), to.join(TRIAL));
    File::create(&trial).map_err(creating)?;
    let tried = fs::rename(&trial, &moved).and_then(|()| fs::rename(&moved, &trial));
    tried.map_err(|source| {
        let folder = to.display().to_string();
        let source = io::Error::new(source.kind(), format!("{}: {source}", Shown(&folder)));
        Problem::Io { doing: "move the new chunks into the store", source }
    })
}

/// Returns whether a folder or a folder below it contains a file.
fn has_files(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || has_files(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Moves the chunks of a complete addition into the store, then its metadata, and removes it.
fn publish(complete: &Path, record: &Record, store: &Path) -> Result<(), Problem> {
    let chunks = complete.join(CHUNKS);
    let is_moved = !chunks.is_dir() || !has_files(&chunks).map_err(Problem::reading)?;
    record.check(store, is_moved)?;
    let mut touched = Vec::new();
    if chunks.is_dir() {
        move_below(&chunks, store, &mut touched).map_err(renaming)?;
    }
    // A reader that finds the new metadata must find the chunks too, also after a power failure.
    let folder = File::open(store).ok();
    folder.as_ref().map_or(Ok(()), sync_below).map_err(Problem::writing)?;
    touched.iter().for_each(|folder| sync_folder(folder));
    for Changed { key, after, .. } in record.changed.iter().filter(|own| own.before != own.after) {
        let (new, path) = (complete.join("metadata"), store.join(key));
        if fs::read(&path).is_ok_and(|found| found == after.as_bytes()) {
            continue;
        }
        let mut file = File::create(&new).map_err(creating)?;
        file.write_all(after.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(Problem::writing)?;
        if let Ok(found) = fs::metadata(&path) {
            file.set_permissions(found.permissions()).map_err(Problem::writing)?;
        }
        drop(file);
        fs::rename(&new, &path).map_err(renaming)?;
        sync_folder(folder_of(&path));
    }
    if chunks.is_dir() {
        fs::remove_dir_all(chunks).map_err(renaming)?;
    }
    fs::remove_file(complete.join(RECORD)).map_err(renaming)?;
    fs::remove_dir_all(complete).map_err(renaming)?;
    sync_folder(folder_of(store));
    Ok(())
}

/// Renames every file below `from` to the same path below `to`, and lists the changed folders.
fn move_below(from: &Path, to: &Path, touched: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            fs::rename(entry.path(), target)?;
            continue;
        }
        match fs::create_dir(&target) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        move_below(&entry.path(), &target, touched)?;
    }
    touched.push(to.to_owned());
    Ok(())
}

fn renaming(source: io::Error) -> Problem {
    Problem::Io { doing: "move the new chunks into the store (--resume continues)", source }
}
