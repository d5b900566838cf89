//! Locks of temporary files and folders, which the system releases when the process ends.
//!
//! On Unix, they are advisory locks. On Windows, such a lock would keep other handles of the same process from reading
//! the file. There, a file is locked while a handle that can write refuses to share this right; reading remains
//! possible.

use std::fs::{File, Permissions};
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::Problem;
use crate::temporary_file::creating;

/// The number of attempts to lock a file. A process that only tests the lock holds it for a moment.
const TRIES: u32 = 10;
pub(crate) const WAIT: Duration = Duration::from_millis(5);

/// Without this flag, Windows opens no folders.
#[cfg(windows)]
pub(crate) const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// With this flag, Windows does not follow links.
#[cfg(windows)]
pub(crate) const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
#[cfg(windows)]
pub(crate) const ERROR_SHARING_VIOLATION: i32 = 32;

/// A file or folder that this process tried to lock.
pub(crate) enum Opened {
    Locked(File),
    /// Another process has locked it.
    InUse,
    /// The file system has no locks.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows needs no locks"))]
    Unlocked(File),
}

/// The file to open.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    Folder,
    File,
    /// The file is created if it does not exist, with these permissions less the umask; by default, only this user can
    /// access it.
    NewFile(
        #[cfg_attr(windows, expect(dead_code, reason = "Windows has no such permissions"))]
        Option<&'a Permissions>,
    ),
}

/// Opens the file or folder at `path` and tries to lock it. Returns an error if a file is a link.
#[cfg(unix)]
pub(crate) fn open(path: &Path, kind: Kind<'_>) -> io::Result<Opened> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

    use rustix::fs::OFlags;

    /// Only this user may access the file, and a later run of this user must be able to reopen it.
    const PRIVATE: u32 = 0o600;
    let mut options = File::options();
    options.read(true).write(!matches!(kind, Kind::Folder)).truncate(false);
    let mut flags = OFlags::NOFOLLOW;
    match kind {
        Kind::NewFile(permissions) => {
            // The system applies the umask to these permissions.
            options.mode(permissions.map_or(0, PermissionsExt::mode) | PRIVATE).create(true);
        }
        Kind::Folder | Kind::File => flags |= OFlags::NONBLOCK,
    }
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    Ok(match file.try_lock() {
        Ok(()) => Opened::Locked(file),
        Err(std::fs::TryLockError::WouldBlock) => Opened::InUse,
        Err(std::fs::TryLockError::Error(_)) => Opened::Unlocked(file),
    })
}

/// Opens the file or folder at `path` and tries to lock it. A link is opened itself.
#[cfg(windows)]
pub(crate) fn open(path: &Path, kind: Kind<'_>) -> io::Result<Opened> {
    use std::os::windows::fs::OpenOptionsExt;

    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_DELETE: u32 = 4;
    let mut options = File::options();
    options.read(true).write(true).create(matches!(kind, Kind::NewFile(_))).truncate(false);
    options.share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE);
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    match options.open(path) {
        Ok(file) => Ok(Opened::Locked(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(Opened::InUse),
        Err(error) => Err(error),
    }
}

/// Opens the file at `path`. A page in a browser has no files, and so no locks.
#[cfg(not(any(unix, windows)))]
pub(crate) fn open(path: &Path, _: Kind<'_>) -> io::Result<Opened> {
    File::open(path).map(Opened::Unlocked)
}

/// Opens and locks a file or folder for this process. If the file system has no locks, users must not run two jobs at
/// once, or remove files that are in use.
///
/// # Errors
/// [`Problem::Busy`] if another process has locked it for too long.
pub(crate) fn open_locked(path: &Path, kind: Kind<'_>) -> Result<File, Problem> {
    retried(|| match open(path, kind).map_err(creating)? {
        Opened::Locked(file) | Opened::Unlocked(file) => Ok(Some(file)),
        Opened::InUse => Ok(None),
    })
}

/// Calls `attempt` until it returns a value.
///
/// # Errors
/// The first error of `attempt`; [`Problem::Busy`] after too many attempts.
pub(crate) fn retried<T>(
    mut attempt: impl FnMut() -> Result<Option<T>, Problem>,
) -> Result<T, Problem> {
    for _ in 0..TRIES {
        if let Some(value) = attempt()? {
            return Ok(value);
        }
        std::thread::sleep(WAIT);
    }
    Err(Problem::Busy)
}
