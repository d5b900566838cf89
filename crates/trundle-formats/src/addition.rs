//! Additions to an existing Zarr store: chunks and metadata that are complete before any of them is moved into it.
//!
//! The hidden folder of an addition has the new chunks below `chunks`, under the keys that they have in the store, and
//! a record of the metadata that changes. Publishing it renames each chunk into the store, then each metadata object,
//! and removes the folder. Every step can be repeated, so a run that is killed on the way can be continued.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
use crate::{Error, Format, Problem};

/// The ending of the folder of a complete addition that is being published.
pub(crate) const ENDING: &str = "append";

pub(crate) const CHUNKS: &str = "chunks";
const RECORD: &str = "record.json";

/// What the hidden folder of an addition records.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The text that identifies the request, so that only the same request continues it.
    pub(crate) request: String,
    /// The metadata objects that change, in the order in which they are replaced.
    pub(crate) changed: Vec<Changed>,
}

/// A metadata object that changes: its key, and its text before and after.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Changed {
    pub(crate) key: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// The state of an addition that an earlier run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// No earlier run has left anything.
    Nothing,
    /// A run was interrupted before it changed the store. It can be done again.
    Begun,
    /// A run was interrupted while it changed the store. This call has finished it.
    Finished,
}

impl Record {
    #[cfg(feature = "zarr")]
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Problem> {
        let text = serde_json::to_vec(self).map_err(io::Error::from).map_err(Problem::writing)?;
        let mut file = File::create_new(folder.join(RECORD)).map_err(creating)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(Problem::writing)
    }

    fn read(folder: &Path) -> Result<Record, Problem> {
        let text = fs::read(folder.join(RECORD)).map_err(Problem::reading)?;
        serde_json::from_slice(&text).map_err(|error| Problem::Malformed(error.to_string()))
    }

    /// Reads the record of a complete addition; `None` if the folder is being removed, because nothing is left to do.
    fn of_complete(folder: &Path) -> Result<Option<Record>, Problem> {
        if folder.join(RECORD).exists() { Record::read(folder).map(Some) } else { Ok(None) }
    }

    /// Checks that each metadata object of the store has its old text, or its new one if `is_begun` is true.
    fn check(&self, store: &Path, is_begun: bool) -> Result<(), Problem> {
        for Changed { key, before, after } in &self.changed {
            let found = fs::read(store.join(key)).map_err(Problem::reading)?;
            if found != before.as_bytes() && !(is_begun && found == after.as_bytes()) {
                let why = format!("{key} has changed since the append began");
                return Err(Problem::Unsupported(why));
            }
        }
        Ok(())
    }
}

/// Returns the folder of the store at `path`, to which an output in `format` can be added.
///
/// # Errors
/// [`Problem`] if it is not such a store, its folder accepts no new files, or an earlier addition is half published.
pub(crate) fn destination(
    path: &Path,
    format: &Format,
) -> Result<(PathBuf, FolderFormat), Problem> {
    let only = "only a Zarr store in a local folder can be appended to";
    let folder = format.folder.filter(|_| url_of(path).is_none());
    let folder = folder.ok_or_else(|| Problem::unsupported(only))?;
    let found = find_folder_destination(path, true, folder)?;
    match fs::metadata(&found) {
        Ok(metadata) if !metadata.is_dir() => Err(Problem::unsupported(only)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Problem::NoStore),
        Err(error) => Err(Problem::writing(error)),
        Ok(_) => Ok((found, folder)),
    }
}

/// Checks that something can be added to the store at `path`, and that no earlier addition is half published.
///
/// # Errors
/// [`Error`] with the reason.
pub fn check_addition(format: &Format, path: &Path) -> Result<(), Error> {
    let check = || {
        let (store, _) = destination(path, format)?;
        if folders(&store, ENDING)?.next().is_some() {
            return Err(Problem::HalfAppended);
        }
        let tag = random_tag(&tag_of(&store));
        TemporaryFolder::new(folder_of(&store), &tag, "check").map(drop)
    };
    check().map_err(|problem| Error::at(path, "stdout", problem))
}

/// Finds what an earlier run of the same request left next to the store at `path`, and finishes it if it is complete.
///
/// # Errors
/// [`Error`] if another request has left it, the store has changed since, or it cannot be finished.
pub fn continue_addition(format: &Format, path: &Path, request: &str) -> Result<Earlier, Error> {
    let find = || {
        let (store, _) = destination(path, format)?;
        if let Some(complete) = folders(&store, ENDING)?.next() {
            let _locked = open_locked(&complete, Kind::Folder)?;
            if Record::of_complete(&complete)?.is_some_and(|record| record.request != request) {
                return Err(Problem::unsupported(
                    "another command was interrupted while it appended to the store",
                ));
            }
            publish(&complete, &store)?;
            return Ok(Earlier::Finished);
        }
        let same = |folder: PathBuf| Record::read(&folder).is_ok_and(|own| own.request == request);
        let is_begun = folders(&store, "part")?.any(same);
        Ok(if is_begun { Earlier::Begun } else { Earlier::Nothing })
    };
    find().map_err(|problem| Error::at(path, "stdout", problem))
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
    Record::read(folder.path())?.check(store, false)?;
    let complete = folder_of(store).join(TemporaryName::of(tag, ENDING));
    rename(folder.path(), &complete).map_err(renaming)?;
    sync_folder(folder_of(store));
    publish(&complete, store)
}

/// Moves the chunks of a complete addition into the store, then its metadata, and removes it.
fn publish(complete: &Path, store: &Path) -> Result<(), Problem> {
    let Some(record) = Record::of_complete(complete)? else {
        return fs::remove_dir_all(complete).map_err(renaming);
    };
    record.check(store, true)?;
    let chunks = complete.join(CHUNKS);
    let mut touched = Vec::new();
    if chunks.is_dir() {
        move_below(&chunks, store, &mut touched).map_err(renaming)?;
    }
    // A reader that finds the new metadata must find the chunks too, also after a power failure.
    let folder = File::open(store).ok();
    folder.as_ref().map_or(Ok(()), sync_below).map_err(Problem::writing)?;
    touched.iter().for_each(|folder| sync_folder(folder));
    for Changed { key, after, .. } in &record.changed {
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
