//! The temporary files that outputs are written to, and what becomes of them if the program ends
//! early.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tempfile::{NamedTempFile, TempPath};

use crate::Problem;
use crate::lock::lock;
use crate::temporary_name::{TemporaryName, random_tag};

/// How often a file that somebody has is tried, and how long to wait between: who only looks whether
/// it is in use has it for a moment.
pub(crate) const LOCK_TRIES: u32 = 10;
pub(crate) const LOCK_WAIT: Duration = Duration::from_millis(5);

/// How often the removal of a folder is tried in which other threads still write.
const REMOVE_TRIES: usize = 10;

/// A finished result that cannot get its name is kept under one of so many.
const FINISHED_NAMES: u32 = 100;

/// The temporary files there are.
static TEMPORARY_FILES: Mutex<Registry> =
    Mutex::new(Registry { files: BTreeMap::new(), stage: Stage::Writing });

struct Registry {
    /// Each file, and whether a later run can go on with it.
    files: BTreeMap<PathBuf, bool>,
    stage: Stage,
}

/// What this process does with its temporary files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Writing,
    /// Renames whole files: see [`begin_finishing`].
    Finishing,
    /// Is about to end: see [`remove_temporary_files`]. No file may follow those that were removed.
    Removed,
}

fn registry() -> MutexGuard<'static, Registry> {
    TEMPORARYlock(&_FILES)
}

/// Removes the temporary files of all outputs that are not finished, for a program that is about to
/// end by a signal, which drops nothing. Those outputs can no longer be finished, and no output can
/// be begun any more. Returns whether [kept](TemporaryFile::keep) files stay.
///
/// Returns `None` and removes nothing if outputs are [being renamed](begin_finishing): the program
/// must go on then. Calls `ending` before the first removal.
pub fn remove_temporary_files(ending: impl FnOnce()) -> Option<bool> {
    let mut registry = registry();
    if registry.stage == Stage::Finishing {
        return None;
    }
    registry.stage = Stage::Removed;
    ending();
    for (file, _) in registry.files.iter().filter(|(_, kept)| !**kept) {
        remove(file);
    }
    #[cfg(feature = "s3")]
    crate::bucket_output::remove_begun();
    Some(registry.files.values().any(|kept| *kept))
}

/// Makes it too late for [`remove_temporary_files`]: the outputs are whole, and the next step renames
/// the first of them. If the program ended between two renames, some outputs would be new and some
/// old; if it ended after the last, a finished job would look like an interrupted one.
///
/// This lasts until the process makes another temporary file.
///
/// # Errors
/// If the files are removed already.
pub fn begin_finishing() -> io::Result<()> {
    let mut registry = registry();
    if registry.stage == Stage::Removed {
        drop(registry);
        wait_for_end();
        return Err(io::ErrorKind::Interrupted.into());
    }
    registry.stage = Stage::Finishing;
    Ok(())
}

/// Removes what is at `path`, a folder with all that is in it. Threads that still write to it have nowhere
/// to write to first, but for a file that is just being made.
pub(crate) fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    // If it cannot be removed there is nothing left to do.
    if !is_folder {
        let _ = fs::remove_file(path);
        return;
    }
    let aside = path.with_extension("check");
    let path = if fs::rename(path, &aside).is_ok() { &aside } else { path };
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => return,
        }
    }
}

/// How long a thread waits for the end of a program that is about to end.
const END_WAIT: Duration = Duration::from_secs(10);

/// Lets the thread wait for the end of a program that has [removed](remove_temporary_files) what it writes
/// to: nothing is to be said of what fails because of that.
pub(crate) fn wait_for_end() {
    if registry().stage == Stage::Removed {
        std::thread::sleep(END_WAIT);
    }
}

/// A temporary file, which is removed when it is dropped, unless it is kept.
#[derive(Debug)]
pub struct TemporaryFile {
    file: NamedTempFile,
    entry: Entry,
}

/// The entry of a temporary file or folder among all of them, until this is dropped.
#[derive(Debug)]
pub(crate) struct Entry(PathBuf);

impl Entry {
    /// What `make` makes at `path`, and its entry: no moment lies between the two, nor one for a removal.
    pub(crate) fn made<T>(
        path: &Path,
        kept: bool,
        make: impl FnOnce() -> Result<T, Problem>,
    ) -> Result<(T, Entry), Problem> {
        let mut registry = registry();
        if registry.stage == Stage::Removed {
            return Err(creating(io::ErrorKind::Interrupted.into()));
        }
        registry.stage = Stage::Writing;
        let made = make()?;
        // Wherever the program goes meanwhile.
        let path = std::path::absolute(path).map_err(creating)?;
        registry.files.insert(path.clone(), kept);
        Ok((made, Entry(path)))
    }

    /// The end of it: what `last` does to it is done before or after a removal of all, and it is no longer
    /// one of them.
    pub(crate) fn ended<T>(&self, last: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let mut registry = registry();
        if registry.stage == Stage::Removed {
            drop(registry);
            wait_for_end();
            return Err(creating(io::ErrorKind::Interrupted.into()));
        }
        let done = last();
        registry.files.remove(&self.0);
        done
    }

    /// Whether it is no longer one of them.
    pub(crate) fn is_ended(&self) -> bool {
        !registry().files.contains_key(&self.0)
    }

    fn keep(&self, kept: bool) {
        if let Some(entry) = registry().files.get_mut(&self.0) {
            *entry = kept;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        registry().files.remove(&self.0);
    }
}

/// What a file at a place that others know is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// To be written anew: what was there is lost.
    Anew,
    /// To be gone on with: it is there and stays as it is.
    Resumed,
}

impl TemporaryFile {
    /// A new file in `folder` for the output that `output_tag` stands for, of a name that nothing
    /// else has.
    pub(crate) fn new(
        folder: &Path,
        output_tag: &str,
        ending: &str,
        permissions: Option<&Permissions>,
    ) -> Result<TemporaryFile, Problem> {
        TemporaryFile::tagged(folder, &random_tag(output_tag), ending, Begin::Anew, permissions)
    }

    /// The path of a file in `folder` that a run with the same `tag` finds again.
    pub fn path_of(folder: &Path, tag: &str, ending: &str) -> PathBuf {
        folder.join(TemporaryName::of(tag, ending))
    }

    /// The file of [`TemporaryFile::path_of`], for this process alone: it is locked. One that is gone
    /// on with is [kept](TemporaryFile::keep). A new one has `permissions`, less what the process must
    /// not give, or else those of a private file.
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process has it, [`Problem::Io`] if it cannot be created or, to
    /// be resumed, opened.
    pub fn tagged(
        folder: &Path,
        tag: &str,
        ending: &str,
        begin: Begin,
        permissions: Option<&Permissions>,
    ) -> Result<TemporaryFile, Problem> {
        let path = TemporaryFile::path_of(folder, tag, ending);
        let kept = begin == Begin::Resumed;
        let (file, entry) = Entry::made(&path, kept, || {
            let file = open_locked(&path, begin, permissions)?;
            if begin == Begin::Anew {
                file.set_len(0).map_err(creating)?;
            }
            let path = TempPath::try_from_path(&path).map_err(creating)?;
            let mut file = NamedTempFile::from_parts(file, path);
            file.disable_cleanup(kept);
            Ok(file)
        })?;
        Ok(TemporaryFile { file, entry })
    }

    /// The file, open for reading and writing.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Lets it stay if the program ends before it is finished, since a later run can go on with it;
    /// or no longer.
    pub fn keep(&mut self, kept: bool) {
        self.file.disable_cleanup(kept);
        self.entry.keep(kept);
    }

    /// Gives it the name `place`, over what is there only if `overwrite` is set. If it cannot have
    /// that, it is [kept](TemporaryFile::kept).
    pub(crate) fn persist(self, place: &Path, overwrite: bool) -> Result<(), Problem> {
        let TemporaryFile { mut file, entry } = self;
        file.disable_cleanup(false);
        let persisted = if overwrite { file.persist(place) } else { file.persist_noclobber(place) };
        let Err(error) = persisted else { return Ok(()) };
        let why = match error.error.kind() {
            io::ErrorKind::AlreadyExists if !overwrite => Problem::Exists,
            _ => Problem::Io { doing: "rename the finished file", source: error.error },
        };
        Err(TemporaryFile { file: error.file, entry }.kept(place, why))
    }

    /// Lets it stay for good, as a whole result that cannot have the name `place` because of `why`,
    /// under one that says so.
    pub(crate) fn kept(self, place: &Path, why: Problem) -> Problem {
        let TemporaryFile { mut file, entry } = self;
        file.disable_cleanup(true);
        drop(entry);
        let path = file.path().to_owned();
        for finished in finished_names(&path) {
            match file.persist_noclobber(&finished) {
                Ok(_) => {
                    return Problem::Kept {
                        why: Box::new(why),
                        place: shown_beside(place, &finished),
                    };
                }
                Err(error) => file = error.file,
            }
            file.disable_cleanup(true);
        }
        Problem::Kept { why: Box::new(why), place: shown_beside(place, &path) }
    }
}

/// The file at `path`, which no other process has. It is no link that somebody else has put there.
fn open_locked(
    path: &Path,
    begin: Begin,
    permissions: Option<&Permissions>,
) -> Result<File, Problem> {
    let mut options = File::options();
    options.read(true).write(true).create(begin == Begin::Anew).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

        /// For the eyes of nobody else; and to be opened again by whoever goes on with it.
        const PRIVATE: u32 = 0o600;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        // The system takes from it what the process must not give.
        options.mode(permissions.map_or(0, PermissionsExt::mode) | PRIVATE);
    }
    #[cfg(not(unix))]
    let _ = permissions;
    loop {
        let file = options.open(path).map_err(creating)?;
        lock(&file)?;
        // Whoever had it before may just have given it its final name.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Takes a file or a folder for this process alone.
///
/// # Errors
/// [`Problem::Busy`] if another process has it.
pub(crate) fn lock(file: &File) -> Result<(), Problem> {
    let mut tries = 0;
    loop {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(LOCK_WAIT);
            }
            Err(fs::TryLockError::WouldBlock) => return Err(Problem::Busy),
            // Where files cannot be locked, two runs at once are the user's to avoid.
            Ok(()) | Err(fs::TryLockError::Error(_)) => return Ok(()),
        }
    }
}

/// The names under which a whole result is kept that was a temporary file at `path`.
pub(crate) fn finished_names(path: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    (1..=FINISHED_NAMES).map(move |number| {
        let number = if number == 1 { String::new() } else { number.to_string() };
        path.with_file_name(format!("{stem}.finished{number}"))
    })
}

/// The path of a temporary file of an output at `place`, given as that of the output is.
pub(crate) fn shown_beside(place: &Path, temporary: &Path) -> PathBuf {
    place.with_file_name(temporary.file_name().unwrap_or_default())
}

/// Whether `path` still leads to this file.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let identity =
        |found: io::Result<fs::Metadata>| found.ok().map(|file| (file.dev(), file.ino()));
    identity(file.metadata()) == identity(fs::symlink_metadata(path))
}

#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, _: &Path) -> bool {
    true
}

pub(crate) fn creating(source: io::Error) -> Problem {
    Problem::Io { doing: "create a file in its folder", source }
}
