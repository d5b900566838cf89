//! The temporary folders that outputs are written to which are folders.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::Problem;
use crate::temporary_file::{Entry, creating, lock, shown_beside};
use crate::temporary_name::TemporaryName;

/// A finished result that cannot get its name is kept under one of so many.
const FINISHED_NAMES: u32 = 100;

/// A temporary folder, which is removed with all that is in it when it is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// Of this process, for as long as it is open.
    own: Option<File>,
    is_over: bool,
    _entry: Entry,
}

impl TemporaryFolder {
    /// A new folder of a name that a later run with the same `tag` would give to its own, for this process
    /// alone. What an earlier one left there is removed.
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process has it, [`Problem::Io`] if it cannot be created.
    pub(crate) fn new(folder: &Path, tag: &str, ending: &str) -> Result<TemporaryFolder, Problem> {
        let path = folder.join(TemporaryName::of(tag, ending));
        let (own, _entry) = Entry::made(&path, false, || {
            if let Ok(earlier) = opened(&path) {
                lock(&earlier)?;
                fs::remove_dir_all(&path).map_err(creating)?;
            }
            fs::create_dir(&path).map_err(creating)?;
            let own = opened(&path).ok();
            own.as_ref().map_or(Ok(()), lock)?;
            Ok(own)
        })?;
        Ok(TemporaryFolder { path, own, is_over: false, _entry })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until all that is in it would survive a power failure. On other systems than Linux, each file
    /// was written out to the disk when it was written.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub(crate) fn sync(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(own) = &self.own {
            rustix::fs::syncfs(own)?;
        }
        Ok(())
    }

    /// Gives it the name `place`, in the place of what is there only if `overwrite` is set. If it cannot
    /// have that, it is kept under another.
    pub(crate) fn persist(mut self, place: &Path, overwrite: bool) -> Result<(), Problem> {
        let renamed = match fs::symlink_metadata(place) {
            Ok(_) if !overwrite => Err(Problem::Exists),
            Ok(found) => self.exchange(place, &found),
            Err(_) => {
                let renamed = fs::rename(&self.path, place);
                renamed.map_err(|source| Problem::Io { doing: RENAME, source })
            }
        };
        self.is_over = true;
        renamed.map_err(|why| self.kept(place, why))
    }

    /// Takes the place of what is there, which is removed.
    fn exchange(&self, place: &Path, found: &fs::Metadata) -> Result<(), Problem> {
        let renaming = |source| Problem::Io { doing: RENAME, source };
        if found.is_dir() {
            fs::set_permissions(&self.path, found.permissions()).map_err(renaming)?;
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};

            if renameat_with(CWD, &self.path, CWD, place, RenameFlags::EXCHANGE).is_ok() {
                // What it was exchanged for has the temporary name now.
                remove(&self.path);
                return Ok(());
            }
        }
        // Where two names cannot be exchanged, the place is empty for a moment.
        let aside = self.path.with_extension("check");
        fs::rename(place, &aside).map_err(renaming)?;
        let renamed = fs::rename(&self.path, place).map_err(renaming);
        match renamed {
            Ok(()) => remove(&aside),
            // Back to where it was.
            Err(_) => fs::rename(&aside, place).map_err(renaming)?,
        }
        renamed
    }

    /// Lets it stay for good, as a whole result that cannot have the name `place` because of `why`, under
    /// one that says so.
    fn kept(&self, place: &Path, why: Problem) -> Problem {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let names = (1..=FINISHED_NAMES).map(|number| match number {
            1 => self.path.with_file_name(format!("{stem}.finished")),
            _ => self.path.with_file_name(format!("{stem}.finished{number}")),
        });
        let finished = names.into_iter().find(is_free);
        let renamed = finished.filter(|finished| fs::rename(&self.path, finished).is_ok());
        let path = renamed.unwrap_or_else(|| self.path.clone());
        Problem::Kept { why: Box::new(why), place: shown_beside(place, &path) }
    }
}

const RENAME: &str = "rename the finished folder";

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.is_over {
            remove(&self.path);
        }
    }
}

/// The folder at `path`, if it is one and no link.
fn opened(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => File::open(path),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Removes what is at `path`, a folder with all that is in it. Threads that still write to it have nowhere
/// to write to first.
pub(crate) fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    // If it cannot be removed there is nothing left to do.
    if is_folder {
        let aside = path.with_extension("check");
        let renamed = fs::rename(path, &aside).is_ok();
        let _ = fs::remove_dir_all(if renamed { &aside } else { path });
    } else {
        let _ = fs::remove_file(path);
    }
}
