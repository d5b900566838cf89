//! Temporary files of outputs, and their removal if the program ends early.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tempfile::{NamedTempFile, TempPath};

use crate::Problem;
use crate::file_identity::is_at;
use crate::file_lock::{self, Kind};
use crate::rename;
use crate::temporary_name::{TemporaryName, random_tag};

/// The attempts to remove a folder into which other threads still write.
const REMOVE_TRIES: usize = 10;

/// The number of names for finished results that cannot be renamed.
const FINISHED_NAMES: u32 = 100;

static TEMPORARY_FILES: Mutex<Registry> =
    Mutex::new(Registry { files: BTreeMap::new(), state: RegistryState::Writing });

struct Registry {
    /// The path of each file, and whether a later run can resume it.
    files: BTreeMap<PathBuf, bool>,
    state: RegistryState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RegistryState {
    Writing,
    /// Complete files are being renamed, see [`begin_finishing`].
    Finishing,
    /// The process is about to end, see [`remove_temporary_files`]. No file may be created.
    Removed,
}

fn registry() -> MutexGuard<'static, Registry> {
    crate::lock::lock(&TEMPORARY_FILES)
}

/// Removes the temporary files of all unfinished outputs, for a program that a signal is about to end.
///
/// After this, no output can be finished or begun. Returns whether [kept](TemporaryFile::keep) files remain. Calls
/// `ending` before the first removal.
///
/// Returns `None` and removes nothing if outputs are [being renamed](begin_finishing). The program must then continue.
pub fn remove_temporary_files(ending: impl FnOnce()) -> Option<bool> {
    let mut registry = registry();
    if registry.state == RegistryState::Finishing {
        return None;
    }
    registry.state = RegistryState::Removed;
    ending();
    for (file, _) in registry.files.iter().filter(|(_, kept)| !**kept) {
        remove(file);
    }
    #[cfg(feature = "zarr")]
    {
        crate::bucket_output::remove_begun();
        crate::bucket_addition::forget_begun();
    }
    Some(registry.files.values().any(|kept| *kept))
}

/// Disables [`remove_temporary_files`] before complete outputs are renamed.
///
/// If the program ended between two renames, some outputs would be new and some old; if it ended after the last, a
/// finished job would look like an interrupted one. Lasts until the process creates another temporary file.
///
/// # Errors
/// If the files are already removed.
pub fn begin_finishing() -> io::Result<()> {
    let mut registry = registry();
    if registry.state == RegistryState::Removed {
        drop(registry);
        wait_for_end();
        return Err(io::ErrorKind::Interrupted.into());
    }
    registry.state = RegistryState::Finishing;
    Ok(())
}

/// Returns whether there is a folder at `path`, and not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Removes the file or folder at `path`. A folder is renamed first, so that other threads create no new files in it.
pub(crate) fn remove(path: &Path) {
    // Ignore errors, because nothing can be done about them.
    if !is_folder(path) {
        let _ = fs::remove_file(path);
        return;
    }
    let aside = path.with_extension("check");
    let path = if fs::rename(path, &aside).is_ok() { &aside } else { path };
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir_all(path) {
            // Windows removes a file when its last handle is closed.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::sleep(file_lock::WAIT);
            }
            _ => return,
        }
    }
}

/// The longest time that a thread waits for the program to end.
const END_WAIT: Duration = Duration::from_secs(10);

/// Blocks until the program ends if it has [removed](remove_temporary_files) its files, so that the thread reports no
/// errors about them.
pub(crate) fn wait_for_end() {
    if registry().state == RegistryState::Removed {
        std::thread::sleep(END_WAIT);
    }
}

/// A temporary file, which is removed on drop unless it is kept.
#[derive(Debug)]
pub struct TemporaryFile {
    file: NamedTempFile,
    registration: Registration,
}

/// The registration of a temporary file or folder, which ends on drop.
#[derive(Debug)]
pub(crate) struct Registration(PathBuf);

impl Registration {
    /// Creates the file at `path` with `make` and registers it, without a removal of all files in between.
    pub(crate) fn made<T>(
        path: &Path,
        kept: bool,
        make: impl FnOnce() -> Result<T, Problem>,
    ) -> Result<(T, Registration), Problem> {
        let mut registry = registry();
        if registry.state == RegistryState::Removed {
            return Err(creating(io::ErrorKind::Interrupted.into()));
        }
        registry.state = RegistryState::Writing;
        let made = make()?;
        // The path must be absolute: the program may change its current folder.
        let path = std::path::absolute(path).map_err(creating)?;
        registry.files.insert(path.clone(), kept);
        Ok((made, Registration(path)))
    }

    /// Calls `last` and ends the registration, without a removal of all files in between.
    pub(crate) fn ended<T>(&self, last: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let mut registry = registry();
        if registry.state == RegistryState::Removed {
            drop(registry);
            wait_for_end();
            return Err(creating(io::ErrorKind::Interrupted.into()));
        }
        let done = last();
        registry.files.remove(&self.0);
        done
    }

    pub(crate) fn is_ended(&self) -> bool {
        !registry().files.contains_key(&self.0)
    }

    fn keep(&self, kept: bool) {
        if let Some(entry) = registry().files.get_mut(&self.0) {
            *entry = kept;
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        registry().files.remove(&self.0);
    }
}

/// How to open a file that may exist from an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Write the file anew, and discard its content.
    Anew,
    /// Resume the file, which must exist. Its content is kept.
    Resumed,
}

impl TemporaryFile {
    /// Creates a file with a unique name in `folder`, for the output with `output_tag`.
    pub(crate) fn new(
        folder: &Path,
        output_tag: &str,
        ending: &str,
        permissions: Option<&Permissions>,
    ) -> Result<TemporaryFile, Problem> {
        TemporaryFile::tagged(folder, &random_tag(output_tag), ending, Begin::Anew, permissions)
    }

    /// Returns the path at which a later run with the same `tag` finds its file in `folder`.
    pub fn path_of(folder: &Path, tag: &str, ending: &str) -> PathBuf {
        folder.join(TemporaryName::of(tag, ending))
    }

    /// Opens and locks the file at [`TemporaryFile::path_of`].
    ///
    /// A resumed file is [kept](TemporaryFile::keep). A new file gets `permissions` less the umask, by default the
    /// permissions of a private file.
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process uses the file, [`Problem::Io`] if it cannot be created or opened.
    pub fn tagged(
        folder: &Path,
        tag: &str,
        ending: &str,
        begin: Begin,
        permissions: Option<&Permissions>,
    ) -> Result<TemporaryFile, Problem> {
        let path = TemporaryFile::path_of(folder, tag, ending);
        let kept = begin == Begin::Resumed;
        let (file, registration) = Registration::made(&path, kept, || {
            let file = open_locked(&path, begin, permissions)?;
            if begin == Begin::Anew {
                file.set_len(0).map_err(creating)?;
            }
            let path = TempPath::try_from_path(&path).map_err(creating)?;
            let mut file = NamedTempFile::from_parts(file, path);
            file.disable_cleanup(kept);
            Ok(file)
        })?;
        Ok(TemporaryFile { file, registration })
    }

    /// Returns the file, open for reading and writing.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Sets whether the file remains if the program ends early, so that a later run can resume it.
    pub fn keep(&mut self, kept: bool) {
        self.file.disable_cleanup(kept);
        self.registration.keep(kept);
    }

    /// Renames the file to `destination`. An existing file is replaced only if `overwrite` is true. If the file cannot
    /// be renamed, it is [kept](TemporaryFile::kept).
    pub(crate) fn persist(self, destination: &Path, overwrite: bool) -> Result<(), Problem> {
        let TemporaryFile { mut file, registration } = self;
        file.disable_cleanup(false);
        let (file, path) = file.into_parts();
        let Err(error) = rename::persist(path, destination, overwrite) else { return Ok(()) };
        let why = match error.error.kind() {
            io::ErrorKind::AlreadyExists if !overwrite => Problem::Exists,
            _ => Problem::Io { doing: "rename the finished file", source: error.error },
        };
        let file = NamedTempFile::from_parts(file, error.path);
        Err(TemporaryFile { file, registration }.kept(destination, why))
    }

    /// Keeps the file as a finished result that could not be renamed to `destination`. `why` is the reason.
    pub(crate) fn kept(self, destination: &Path, why: Problem) -> Problem {
        let TemporaryFile { mut file, registration } = self;
        file.disable_cleanup(true);
        drop(registration);
        let (_file, mut kept) = file.into_parts();
        let path = kept.to_path_buf();
        for finished in finished_names(&path) {
            match rename::persist(kept, &finished, false) {
                Ok(()) => {
                    return Problem::Kept {
                        why: Box::new(why),
                        path: shown_beside(destination, &finished),
                    };
                }
                Err(error) => kept = error.path,
            }
            kept.disable_cleanup(true);
        }
        Problem::Kept { why: Box::new(why), path: shown_beside(destination, &path) }
    }
}

/// Opens and locks the file at `path`, without following a link that another user may have put there.
fn open_locked(
    path: &Path,
    begin: Begin,
    permissions: Option<&Permissions>,
) -> Result<File, Problem> {
    let kind = match begin {
        Begin::Anew => Kind::NewFile(permissions),
        Begin::Resumed => Kind::File,
    };
    loop {
        let file = file_lock::open_locked(path, kind)?;
        // The previous owner of the lock may have renamed the file.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Returns the names for a finished result with the temporary name `path`.
pub(crate) fn finished_names(path: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    (1..=FINISHED_NAMES).map(move |number| {
        let number = if number == 1 { String::new() } else { number.to_string() };
        path.with_file_name(format!("{stem}.finished{number}"))
    })
}

/// Returns the path of a temporary file for messages. Its folder is written as in `destination`.
pub(crate) fn shown_beside(destination: &Path, temporary: &Path) -> PathBuf {
    destination.with_file_name(temporary.file_name().unwrap_or_default())
}

pub(crate) fn creating(source: io::Error) -> Problem {
    Problem::Io { doing: "create a file in its folder", source }
}
