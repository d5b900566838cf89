//! Temporary folders, for outputs that are folders.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::Problem;
use crate::file_identity::is_at;
use crate::file_lock::{self, Kind};
use crate::format::FolderFormat;
use crate::rename::rename;
use crate::temporary_file::{Registration, creating, finished_names, remove, shown_beside};
use crate::temporary_name::TemporaryName;

/// The attempts to create a folder while other processes remove it.
const TRIES: usize = 10;

/// A temporary folder, which is removed with its content on drop.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// The folder, opened with an exclusive lock.
    own: File,
    registration: Registration,
}

impl TemporaryFolder {
    /// Creates and locks the folder for `tag`, and removes the folder of an earlier run with the same tag.
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process uses the folder, [`Problem::Io`] if it cannot be created.
    pub(crate) fn new(folder: &Path, tag: &str, ending: &str) -> Result<TemporaryFolder, Problem> {
        let path = folder.join(TemporaryName::of(tag, ending));
        for _ in 0..TRIES {
            let made = Registration::made(&path, false, || match fs::create_dir(&path) {
                Ok(()) => taken(&path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                Err(error) => Err(creating(error)),
            });
            match made? {
                (Some(own), registration) => {
                    return Ok(TemporaryFolder { path, own, registration });
                }
                (None, registration) => drop(registration),
            }
            remove_earlier(&path)?;
        }
        Err(Problem::Busy)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls [`sync_below`] for the folder.
    ///
    /// # Errors
    /// If the data cannot be written to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_below(&self.own)
    }

    /// Renames the folder to `destination` like [`rename_to_destination`], and removes the folder or file that it
    /// replaces. If the folder cannot be renamed, the result is kept under another name.
    pub(crate) fn persist(
        self,
        destination: &Path,
        overwrite: bool,
        format: FolderFormat,
    ) -> Result<(), Problem> {
        // `ended` holds off signals during the rename.
        let renamed = self.registration.ended(|| {
            let renamed = rename_to_destination(&self.path, destination, overwrite, format);
            renamed.map_err(|why| kept(&self.path, destination, why))
        });
        if let Some(replaced) = renamed? {
            remove(&replaced);
        }
        Ok(())
    }

    /// Ends the folder with `last`, which renames the folder and publishes its content. Signals wait until it
    /// has returned.
    pub(crate) fn publish(
        self,
        last: impl FnOnce(&TemporaryFolder) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let done = self.registration.ended(|| last(&self));
        if done.is_err() && self.is_there() {
            remove(&self.path);
        }
        done
    }

    fn is_there(&self) -> bool {
        is_at(&self.own, &self.path)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.registration.is_ended() && self.is_there() {
            remove(&self.path);
        }
    }
}

/// Opens and locks the new folder at `path`; `None` if another process has replaced it.
fn taken(path: &Path) -> Result<Option<File>, Problem> {
    match file_lock::open_locked(path, Kind::Folder) {
        Err(Problem::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(|own| Some(own).filter(|own| is_at(own, path))),
    }
}

fn remove_earlier(path: &Path) -> Result<(), Problem> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => {
            return Err(creating(io::ErrorKind::AlreadyExists.into()));
        }
        Err(_) => return Ok(()),
        Ok(_) => {}
    }
    let earlier = match file_lock::open_locked(path, Kind::Folder) {
        Err(Problem::Io { .. }) => return Ok(()),
        opened => opened?,
    };
    if is_at(&earlier, path) {
        fs::remove_dir_all(path).map_err(creating)?;
    }
    Ok(())
}

const RENAME: &str = "rename the finished folder";

fn renaming(source: io::Error) -> Problem {
    Problem::Io { doing: RENAME, source }
}

/// Describes an error when a folder that will be replaced could not be renamed.
fn renaming_old(source: io::Error) -> Problem {
    // Windows does not rename a folder while a file in it is open.
    if cfg!(windows) && source.kind() == io::ErrorKind::PermissionDenied {
        let why = format!("{source}; a program may have a file in the old folder open");
        return renaming(io::Error::new(source.kind(), why));
    }
    renaming(source)
}

/// Waits until everything in a folder would survive a power failure. On systems other than Linux, each file was synced
/// when it was written.
///
/// `folder` must have been opened before the files were written: Linux tells a file that is opened later nothing about
/// earlier errors that another process has seen.
pub(crate) fn sync_below(folder: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(folder)?;
    #[cfg(not(target_os = "linux"))]
    let _ = folder;
    Ok(())
}

/// Renames the folder at `path` to `destination`. An existing file or folder is replaced only if `overwrite` is true,
/// and a folder only if it has the same format. Returns the new path of the replaced file or folder.
pub(crate) fn rename_to_destination(
    path: &Path,
    destination: &Path,
    overwrite: bool,
    format: FolderFormat,
) -> Result<Option<PathBuf>, Problem> {
    match fs::symlink_metadata(destination) {
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(_) => exchange(path, destination, format).map(Some),
        Err(_) => rename_to_new(path, destination).map(|()| None),
    }
}

/// Renames the folder at `path` to `destination`, which must not exist.
fn rename_to_new(path: &Path, destination: &Path) -> Result<(), Problem> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};

        match renameat_with(CWD, path, CWD, destination, RenameFlags::NOREPLACE) {
            Err(error) if cannot(error) => {}
            Err(rustix::io::Errno::EXIST) => return Err(Problem::Exists),
            other => return other.map_err(|error| renaming(error.into())),
        }
    }
    #[cfg(not(windows))]
    return fs::rename(path, destination).map_err(renaming);
    #[cfg(windows)]
    match crate::rename::rename_to_new(path, destination) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Problem::Exists),
        other => other.map_err(renaming),
    }
}

/// Exchanges the folder at `path` with the folder or file at `destination`. Returns the new path of the file or folder
/// that was at `destination`.
fn exchange(path: &Path, destination: &Path, format: FolderFormat) -> Result<PathBuf, Problem> {
    let found = fs::symlink_metadata(destination).map_err(renaming)?;
    let is_replaced = |at: &Path| match fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() && !(format.is_one)(at) => Err(Problem::OtherFolder),
        _ => Ok(()),
    };
    is_replaced(destination)?;
    if found.is_dir() {
        fs::set_permissions(path, found.permissions()).map_err(renaming)?;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let swapped = || renameat_with(CWD, path, CWD, destination, RenameFlags::EXCHANGE);
        match swapped() {
            Err(error) if cannot(error) => {}
            Err(error) => return Err(renaming(error.into())),
            // Another process may have replaced `destination` after it was checked.
            Ok(()) => match is_replaced(path) {
                Ok(()) => return Ok(path.to_owned()),
                Err(why) => {
                    swapped().map_err(|error| renaming(error.into()))?;
                    return Err(why);
                }
            },
        }
    }
    // If no atomic exchange is possible, `destination` does not exist for a moment. During this moment, the old folder
    // has a name that no process removes.
    let aside = free_name(path).ok_or_else(|| renaming(io::ErrorKind::AlreadyExists.into()))?;
    rename(destination, &aside).map_err(renaming_old)?;
    match rename(path, destination).map_err(renaming) {
        Ok(()) => Ok(aside),
        Err(why) => {
            // Restore the old folder.
            rename(&aside, destination).map_err(renaming)?;
            Err(why)
        }
    }
}

/// Returns whether the kernel or the file system lacks this kind of rename.
#[cfg(target_os = "linux")]
fn cannot(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;

    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Keeps the folder at `path` as a finished result that could not be renamed to `destination`. `why` is the reason.
fn kept(path: &Path, destination: &Path, why: Problem) -> Problem {
    let renamed = free_name(path).filter(|finished| rename(path, finished).is_ok());
    let path = renamed.unwrap_or_else(|| path.to_owned());
    match path.exists() {
        true => Problem::Kept { why: Box::new(why), path: shown_beside(destination, &path) },
        false => why,
    }
}

fn free_name(path: &Path) -> Option<PathBuf> {
    finished_names(path).find(|path| fs::symlink_metadata(path).is_err())
}
