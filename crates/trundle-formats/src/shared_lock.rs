//! A lock of a folder that several processes share.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::Problem;
use crate::file_lock::retried;
use crate::temporary_file::creating;

/// The name of the locked file in the folder.
#[cfg(windows)]
const FILE_NAME: &str = "lock";

/// A lock that is shared by all processes that use a folder, until one of them [takes](SharedLock::take_alone) it alone
/// to rename or remove the content.
///
/// On Unix, the folder itself is locked. Windows cannot lock folders, so a file in the folder is.
#[derive(Debug)]
pub(crate) struct SharedLock {
    folder: PathBuf,
    locked: Mutex<Option<File>>,
}

/// Opens what is locked for the folder. A folder that is a link is refused.
#[cfg(unix)]
fn open(folder: &Path, _create: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(folder)
}

/// Opens the folder. A page in a browser has no files, and so no locks.
#[cfg(not(any(unix, windows)))]
fn open(folder: &Path, _create: bool) -> io::Result<File> {
    File::open(folder)
}

/// Opens what is locked for the folder.
#[cfg(windows)]
fn open(folder: &Path, create: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(create).truncate(false);
    options.open(folder.join(FILE_NAME))
}

/// Opens what is locked for the folder; `None` if the folder does not exist.
fn open_existing(folder: &Path, create: bool) -> io::Result<Option<File>> {
    match open(folder, create) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

fn taken(attempt: &Result<(), TryLockError>) -> Option<()> {
    match attempt {
        Err(TryLockError::WouldBlock) => None,
        // Without locks, users must not run two jobs at once, or remove files that are in use.
        Ok(()) | Err(TryLockError::Error(_)) => Some(()),
    }
}

impl SharedLock {
    /// Shares the lock of the folder. Returns `None` if the folder does not exist.
    ///
    /// # Errors
    /// [`Problem::Busy`] if a process has taken the lock alone.
    pub(crate) fn share(folder: &Path) -> Result<Option<SharedLock>, Problem> {
        SharedLock::locked(folder, File::try_lock_shared)
    }

    /// Takes the lock of the folder alone. Returns `None` if the folder does not exist.
    ///
    /// # Errors
    /// [`Problem::Busy`] if a process shares the lock.
    pub(crate) fn alone(folder: &Path) -> Result<Option<SharedLock>, Problem> {
        SharedLock::locked(folder, File::try_lock)
    }

    fn locked(
        folder: &Path,
        try_lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Option<SharedLock>, Problem> {
        let Some(file) = open_existing(folder, true).map_err(creating)? else { return Ok(None) };
        retried(|| Ok(taken(&try_lock(&file))))?;
        let lock = SharedLock { folder: folder.to_owned(), locked: Mutex::new(Some(file)) };
        Ok(Some(lock).filter(SharedLock::is_there))
    }

    /// Takes the shared lock alone.
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process shares the lock.
    pub(crate) fn take_alone(&self) -> Result<(), Problem> {
        let file = self.file();
        let Some(file) = &*file else { return Err(Problem::Busy) };
        // Windows does not convert locks.
        #[cfg(windows)]
        let _ = file.unlock();
        let alone = retried(|| Ok(taken(&file.try_lock())));
        #[cfg(windows)]
        if alone.is_err() {
            retried(|| Ok(taken(&file.try_lock_shared())))?;
        }
        alone
    }

    /// Prepares for the removal of the folder. Windows does not remove a folder with an open file.
    pub(crate) fn begin_removal(&self) {
        if cfg!(windows) {
            *self.file() = None;
        }
    }

    /// Returns whether the folder that was locked is still at its path.
    pub(crate) fn is_there(&self) -> bool {
        match &*self.file() {
            #[cfg(not(windows))]
            Some(locked) => crate::file_identity::is_at(locked, &self.folder),
            #[cfg(windows)]
            Some(locked) => crate::file_identity::is_at(locked, &self.folder.join(FILE_NAME)),
            None => false,
        }
    }

    /// Tests whether a process has the lock of the folder. Returns an error if this cannot be tested.
    pub(crate) fn is_in_use(folder: &Path) -> io::Result<bool> {
        let Some(file) = open_existing(folder, false)? else { return Ok(false) };
        match file.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Calls [`sync_below`](crate::temporary_folder::sync_below) for the disk of the folder.
    ///
    /// # Errors
    /// If data that was written since the lock was taken cannot be written to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file().as_ref().map_or(Ok(()), crate::temporary_folder::sync_below)
    }

    fn file(&self) -> MutexGuard<'_, Option<File>> {
        crate::lock::lock(&self.locked)
    }
}
