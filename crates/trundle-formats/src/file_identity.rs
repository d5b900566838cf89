//! Identifies files and folders, whatever their paths are.

use std::fs::File;
use std::io;
use std::path::Path;

/// The number of the disk, and the number of the file on it.
pub(crate) type FileIdentity = (u64, u64);

#[cfg(unix)]
fn of_metadata(found: &std::fs::Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;

    (found.dev(), found.ino())
}

#[cfg(unix)]
fn of_file(file: &File) -> io::Result<FileIdentity> {
    Ok(of_metadata(&file.metadata()?))
}

/// Follows links.
#[cfg(unix)]
fn of_path(path: &Path) -> io::Result<FileIdentity> {
    Ok(of_metadata(&std::fs::metadata(path)?))
}

/// Does not follow links.
#[cfg(unix)]
fn of_entry(path: &Path) -> io::Result<FileIdentity> {
    Ok(of_metadata(&std::fs::symlink_metadata(path)?))
}

// A page in a browser has no files.
#[cfg(not(any(unix, windows)))]
fn of_file(_: &File) -> io::Result<FileIdentity> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(unix, windows)))]
fn of_path(_: &Path) -> io::Result<FileIdentity> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(unix, windows)))]
use of_path as of_entry;

#[cfg(windows)]
fn of_file(file: &File) -> io::Result<FileIdentity> {
    let found = winapi_util::file::information(file)?;
    Ok((found.volume_serial_number(), found.file_index()))
}

/// Follows links.
#[cfg(windows)]
fn of_path(path: &Path) -> io::Result<FileIdentity> {
    opened(path, 0)
}

/// Does not follow links.
#[cfg(windows)]
fn of_entry(path: &Path) -> io::Result<FileIdentity> {
    opened(path, crate::file_lock::FILE_FLAG_OPEN_REPARSE_POINT)
}

#[cfg(windows)]
fn opened(path: &Path, flags: u32) -> io::Result<FileIdentity> {
    use std::os::windows::fs::OpenOptionsExt;

    let mut options = File::options();
    // Folders can only be opened with this flag.
    options.access_mode(0).custom_flags(crate::file_lock::FILE_FLAG_BACKUP_SEMANTICS | flags);
    of_file(&options.open(path)?)
}

/// Returns whether the file or folder at `path` is `file`, and not a link to it.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    of_file(file).ok() == of_entry(path).ok()
}

/// Returns whether two paths lead to the same file, also through hard links or two mounts of one folder.
pub(crate) fn is_same_file(path: &Path, other: &Path) -> bool {
    of_path(path).is_ok_and(|own| of_path(other).is_ok_and(|other| own == other))
}

/// Returns an identifier of the file or folder at `path` that no earlier one at that path had.
///
/// On Unix, it includes the creation time, because inode numbers are reused. Returns `None` if the system does not
/// report that time.
#[cfg(unix)]
pub(crate) fn id_of(path: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let made = crate::blob::nanoseconds(found.created().ok()?);
    Some(format!("{}-{made}", of_metadata(&found).1))
}

/// Returns an identifier of the file or folder at `path` that no earlier one at that path had.
///
/// It is the file's number, which NTFS does not reuse. A file that replaces another one can get its creation time.
#[cfg(not(unix))]
pub(crate) fn id_of(path: &Path) -> Option<String> {
    let (volume, number) = of_entry(path).ok()?;
    Some(format!("{volume:x}-{number:x}"))
}
