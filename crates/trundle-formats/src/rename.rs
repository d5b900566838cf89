//! Renames finished files and folders.

#[cfg(not(windows))]
pub(crate) use ordinary::{persist, rename};
#[cfg(windows)]
pub(crate) use windows::{check_replaceable, persist, rename, rename_to_new};

#[cfg(not(windows))]
mod ordinary {
    pub(crate) use std::fs::rename;
    use std::path::Path;

    use tempfile::{PathPersistError, TempPath};

    /// Renames the file at `path`. An existing file is replaced only if `overwrite` is true.
    pub(crate) fn persist(
        path: TempPath,
        destination: &Path,
        overwrite: bool,
    ) -> Result<(), PathPersistError> {
        if overwrite { path.persist(destination) } else { path.persist_noclobber(destination) }
    }
}

/// Renames and replaces files while other programs have them open.
#[cfg(windows)]
mod windows {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::io::{self, ErrorKind};
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::{Component, Path, PathBuf, Prefix};
    use std::time::Duration;

    use tempfile::{PathPersistError, TempPath};

    use crate::file_lock::{ERROR_SHARING_VIOLATION, FILE_FLAG_BACKUP_SEMANTICS};

    const DELETE: u32 = 0x0001_0000;
    const FILE_SHARE_ALL: u32 = 7;

    /// The times to wait before a rename is tried again, in milliseconds: virus scanners and indexers open new files
    /// for a moment.
    const WAITS: [u64; 7] = [10, 20, 40, 80, 160, 320, 640];

    fn is_refused(error: &io::Error) -> bool {
        error.kind() == ErrorKind::PermissionDenied
            || error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
    }

    /// Tests whether the file or folder at `path` could be opened with the right to delete or rename it, while other
    /// handles have the rights `share`.
    fn is_open(path: &Path, share: u32) -> bool {
        let mut options = File::options();
        options.access_mode(DELETE).share_mode(share).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let opened = options.open(path);
        opened.is_err_and(|error| error.raw_os_error() == Some(ERROR_SHARING_VIOLATION))
    }

    fn open_elsewhere() -> io::Error {
        io::Error::new(ErrorKind::PermissionDenied, "another program has the old file open")
    }

    /// Checks that a rename could replace the file at `path`.
    ///
    /// # Errors
    /// If the file is read-only, or a program has opened it such that it cannot be replaced.
    pub(crate) fn check_replaceable(path: &Path) -> io::Result<()> {
        if fs::metadata(path)?.permissions().readonly() {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "the old file is read-only"));
        }
        if is_open(path, FILE_SHARE_ALL) { Err(open_elsewhere()) } else { Ok(()) }
    }

    /// Renames the file at `path`. An existing file is replaced only if `overwrite` is true.
    pub(crate) fn persist(
        mut path: TempPath,
        destination: &Path,
        overwrite: bool,
    ) -> Result<(), PathPersistError> {
        match if overwrite {
            replace(&path, destination)
        } else {
            rename_to_new(&path, destination)
        } {
            Ok(()) => {
                path.disable_cleanup(true);
                Ok(())
            }
            Err(error) => Err(PathPersistError { error, path }),
        }
    }

    /// Renames a file or folder, and replaces an existing file.
    pub(crate) fn rename(path: &Path, destination: &Path) -> io::Result<()> {
        patiently(|| fs::rename(path, destination))
    }

    fn patiently(mut rename: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        for wait in WAITS {
            match rename() {
                Err(error) if is_refused(&error) => {
                    std::thread::sleep(Duration::from_millis(wait));
                }
                other => return other,
            }
        }
        rename()
    }

    /// Renames the file or folder at `path` to `destination`, which must not exist.
    pub(crate) fn rename_to_new(path: &Path, destination: &Path) -> io::Result<()> {
        // `TempPath` passes paths to the system as they are, and the system limits ordinary paths to 260 characters.
        let (path, destination) = (verbatim(path)?, verbatim(destination)?);
        patiently(|| {
            let mut temporary = TempPath::try_from_path(&path)?;
            temporary.disable_cleanup(true);
            temporary.persist_noclobber(&destination).map_err(|mut failed| {
                failed.path.disable_cleanup(true);
                failed.error
            })
        })
    }

    /// Renames a file and replaces an existing file, even if this process has that file open.
    fn replace(path: &Path, destination: &Path) -> io::Result<()> {
        let Err(error) = fs::rename(path, destination) else { return Ok(()) };
        if !is_refused(&error) || !is_open(destination, 0) {
            return rename(path, destination);
        }
        // NTFS replaces an open file, but FAT and network drives do not. They can still rename it. For a moment,
        // `destination` does not exist. `trundle clean` knows no such names, so it does not remove the old file.
        let aside = path.with_extension("replaced");
        rename_to_new(destination, &aside).map_err(|_| open_elsewhere())?;
        if let Err(error) = rename(path, destination) {
            fs::rename(&aside, destination)?;
            return Err(error);
        }
        // The old file is removed when it is closed.
        let _ = fs::remove_file(&aside);
        Ok(())
    }

    /// Returns the path in the form that has no limit of 260 characters: `\\?\C:\x`.
    fn verbatim(path: &Path) -> io::Result<PathBuf> {
        let path = std::path::absolute(path)?;
        let start = match path.components().next() {
            Some(Component::Prefix(prefix)) => match prefix.kind() {
                Prefix::Disk(_) => r"\\?\",
                Prefix::UNC(..) => r"\\?\UNC",
                _ => return Ok(path),
            },
            _ => return Ok(path),
        };
        let mut whole = OsString::from(start);
        match path.to_str() {
            Some(text) if start.ends_with("UNC") => whole.push(&text[1..]),
            // A network path that is not Unicode keeps its form.
            None if start.ends_with("UNC") => return Ok(path),
            _ => whole.push(&path),
        }
        Ok(whole.into())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn paths_become_verbatim_windows_paths() {
            for (path, long) in [
                (r"C:\x\y.npy", r"\\?\C:\x\y.npy"),
                (r"C:/x/./y.npy", r"\\?\C:\x\y.npy"),
                (r"\\server\share\y", r"\\?\UNC\server\share\y"),
                (r"\\?\C:\x", r"\\?\C:\x"),
            ] {
                assert_eq!(verbatim(Path::new(path)).unwrap(), Path::new(long));
            }
        }
    }
}
