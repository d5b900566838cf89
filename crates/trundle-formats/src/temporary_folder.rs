//! The temporary folders that outputs are written to which are folders.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::Problem;
use crate::format::FolderFormat;
use crate::temporary_file::{Entry, creating, finished_names, is_at, lock, remove, shown_beside};
use crate::temporary_name::TemporaryName;

/// How often a folder is made anew that another process has removed, since it was looked at.
const TRIES: usize = 10;

/// A temporary folder, which is removed with all that is in it when it is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// The folder, for this process alone as long as it is open; none where folders cannot be opened.
    own: Option<File>,
    entry: Entry,
}

impl TemporaryFolder {
    /// A new folder of a name that a later run with the same `tag` would give to its own, for this process
    /// alone. What an earlier one left there is removed.
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process has it, [`Problem::Io`] if it cannot be created.
    pub(crate) fn new(folder: &Path, tag: &str, ending: &str) -> Result<TemporaryFolder, Problem> {
        let path = folder.join(TemporaryName::of(tag, ending));
        for _ in 0..TRIES {
            let made = Entry::made(&path, false, || match fs::create_dir(&path) {
                Ok(()) => taken(&path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                Err(error) => Err(creating(error)),
            });
            match made? {
                (Some(own), entry) => return Ok(TemporaryFolder { path, own, entry }),
                (None, entry) => drop(entry),
            }
            remove_earlier(&path)?;
        }
        Err(Problem::Busy)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// [`sync_below`] of it.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.own.as_ref().map_or(Ok(()), sync_below)
    }

    /// Gives it the name `place`, in the place of what is there only if `overwrite` is set, and of a folder
    /// only if it is of the same format. If it cannot have that, it is kept under another.
    pub(crate) fn persist(
        self,
        place: &Path,
        overwrite: bool,
        format: FolderFormat,
    ) -> Result<(), Problem> {
        // No signal comes between two names.
        let renamed = self.entry.ended(|| {
            let renamed = rename_to_place(&self.path, place, overwrite, format);
            renamed.map_err(|why| kept(&self.path, place, why))
        });
        if let Some(replaced) = renamed? {
            remove(&replaced);
        }
        Ok(())
    }

    /// Whether it is still where it was made.
    fn is_there(&self) -> bool {
        self.own.as_ref().is_none_or(|own| is_at(own, &self.path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.entry.is_ended() && self.is_there() {
            remove(&self.path);
        }
    }
}

/// The new folder at `path`, taken for this process alone; none if it is another one by now.
#[cfg(unix)]
fn taken(path: &Path) -> Result<Option<Option<File>>, Problem> {
    let own = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(creating)?,
    };
    lock(&own)?;
    Ok(is_at(&own, path).then_some(Some(own)))
}

/// Folders cannot be locked: two runs at once are the user's to avoid.
#[cfg(not(unix))]
fn taken(_: &Path) -> Result<Option<Option<File>>, Problem> {
    Ok(Some(None))
}

/// Removes what an earlier run left at `path`.
fn remove_earlier(path: &Path) -> Result<(), Problem> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => {
            return Err(creating(io::ErrorKind::AlreadyExists.into()));
        }
        Err(_) => return Ok(()),
        Ok(_) => {}
    }
    let Ok(earlier) = File::open(path) else { return Ok(()) };
    lock(&earlier)?;
    if is_at(&earlier, path) {
        fs::remove_dir_all(path).map_err(creating)?;
    }
    Ok(())
}

const RENAME: &str = "rename the finished folder";

fn renaming(source: io::Error) -> Problem {
    Problem::Io { doing: RENAME, source }
}

/// Waits until all that is in a folder would survive a power failure. On other systems than Linux, each file was
/// written out to the disk when it was written.
pub(crate) fn sync_below(folder: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(folder)?;
    #[cfg(not(target_os = "linux"))]
    let _ = folder;
    Ok(())
}

/// Gives the folder at `path` the name `place`, in the place of what is there only if `overwrite` is set, and
/// of a folder only if it is of the same format; says where that is now.
pub(crate) fn rename_to_place(
    path: &Path,
    place: &Path,
    overwrite: bool,
    format: FolderFormat,
) -> Result<Option<PathBuf>, Problem> {
    match fs::symlink_metadata(place) {
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(_) => exchange(path, place, format).map(Some),
        Err(_) => rename_to_new(path, place).map(|()| None),
    }
}

/// Gives the folder at `path` the name `place`, where nothing is.
fn rename_to_new(path: &Path, place: &Path) -> Result<(), Problem> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};

        match renameat_with(CWD, path, CWD, place, RenameFlags::NOREPLACE) {
            Err(error) if cannot(error) => {}
            Err(rustix::io::Errno::EXIST) => return Err(Problem::Exists),
            other => return other.map_err(|error| renaming(error.into())),
        }
    }
    fs::rename(path, place).map_err(renaming)
}

/// Puts the folder at `path` in the place of what is at `place`, and says where that is now.
fn exchange(path: &Path, place: &Path, format: FolderFormat) -> Result<PathBuf, Problem> {
    let found = fs::symlink_metadata(place).map_err(renaming)?;
    let is_replaced = |at: &Path| match fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() && !(format.is_one)(at) => Err(Problem::OtherFolder),
        _ => Ok(()),
    };
    is_replaced(place)?;
    if found.is_dir() {
        fs::set_permissions(path, found.permissions()).map_err(renaming)?;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let swapped = || renameat_with(CWD, path, CWD, place, RenameFlags::EXCHANGE);
        match swapped() {
            Err(error) if cannot(error) => {}
            Err(error) => return Err(renaming(error.into())),
            // Something else may have come to the place since.
            Ok(()) => match is_replaced(path) {
                Ok(()) => return Ok(path.to_owned()),
                Err(why) => {
                    swapped().map_err(|error| renaming(error.into()))?;
                    return Err(why);
                }
            },
        }
    }
    // Where two names cannot be exchanged, nothing is at the place for a moment. What was there has a name
    // then that nobody takes for something to be removed.
    let aside = free_name(path).ok_or_else(|| renaming(io::ErrorKind::AlreadyExists.into()))?;
    fs::rename(place, &aside).map_err(renaming)?;
    match fs::rename(path, place).map_err(renaming) {
        Ok(()) => Ok(aside),
        Err(why) => {
            // Back to where it was.
            fs::rename(&aside, place).map_err(renaming)?;
            Err(why)
        }
    }
}

/// Whether a system or a file system does not know the way in which something was to be renamed.
#[cfg(target_os = "linux")]
fn cannot(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;

    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Lets the folder at `path` stay for good, as a whole result that cannot have the name `place` because of
/// `why`, under one that says so.
fn kept(path: &Path, place: &Path, why: Problem) -> Problem {
    let renamed = free_name(path).filter(|finished| fs::rename(path, finished).is_ok());
    let path = renamed.unwrap_or_else(|| path.to_owned());
    match path.exists() {
        true => Problem::Kept { why: Box::new(why), place: shown_beside(place, &path) },
        false => why,
    }
}

/// A name for a finished result that nothing has.
fn free_name(path: &Path) -> Option<PathBuf> {
    finished_names(path).find(|path| fs::symlink_metadata(path).is_err())
}
