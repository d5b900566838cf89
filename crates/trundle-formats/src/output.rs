//! Files that appear whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::error::is_stream;
use crate::{Description, Error, Format, Problem, TensorFile};

/// How many symbolic links may lead from one to the next: what Linux allows.
const MAX_LINKS: usize = 40;

/// A file being written. It is a temporary file beside its place until [`Output::finish`] renames
/// it, and leaves nothing behind if it is dropped before.
///
/// A symbolic link is followed, and its target replaced. A file that is overwritten passes its
/// permissions on; a new one gets those of any new file. What is no regular file (a pipe, a
/// device) is written directly, and so is stdout.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    overwrite: bool,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A temporary file, and the place it is for.
    Replace(NamedTempFile, PathBuf, Entry),
    Special(File),
    Stdout(Stdout),
}

/// The temporary files there are.
static UNFINISHED: Mutex<Unfinished> =
    Mutex::new(Unfinished { files: BTreeSet::new(), removed: false });

struct Unfinished {
    files: BTreeSet<PathBuf>,
    /// Set for good by [`remove_unfinished`]: no file may follow those that it removed.
    removed: bool,
}

/// The entry of a temporary file among [`UNFINISHED`], until this is dropped.
#[derive(Debug)]
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        unfinished().files.remove(&self.0);
    }
}

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all outputs that are not finished: for a program that is about
/// to end by a signal, which drops nothing. Those outputs can no longer be finished, and none can
/// be begun any more.
pub fn remove_unfinished() {
    let mut unfinished = unfinished();
    unfinished.removed = true;
    for file in &unfinished.files {
        // If it cannot be removed there is nothing left to do.
        let _ = fs::remove_file(file);
    }
}

/// What there is at a place for an output.
enum Found {
    Nothing,
    Regular(Metadata),
    Special,
}

impl Output {
    /// Checks that an output can be created at `path`, before any work is done for it: a file can
    /// be created in its folder, and it does not exist unless `overwrite` allows that.
    ///
    /// # Errors
    /// [`Error`] saying which of these does not hold.
    pub fn check(path: &Path, overwrite: bool) -> Result<(), Error> {
        if is_stream(path) {
            return Ok(());
        }
        let check = || match find_place(path, overwrite)? {
            (_, Found::Special) => Ok(()),
            (place, found) => temporary(&place, &found).map(drop),
        };
        check().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// Begins the output at `path`, or stdout for `-`.
    ///
    /// # Errors
    /// [`Error`] if it exists and `overwrite` is not set, if it is a folder, or if no file can be
    /// created in its folder.
    pub fn create(path: &Path, overwrite: bool) -> Result<Output, Error> {
        let target = Target::create(path, overwrite)
            .map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(Output { path: path.to_owned(), overwrite, target })
    }

    /// Opens what was written so far, before it appears at the path, in the format of the path's
    /// ending. `description` says what the format cannot state.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`], and if the output is no file but a stream, a pipe or a device.
    pub fn read_back(&self, description: &Description) -> Result<TensorFile, Error> {
        let error = |problem| Error::at(&self.path, "stdout", problem);
        let format = Format::of(&self.path)?;
        match &self.target {
            Target::Replace(file, ..) => {
                TensorFile::open_in(format, description, file.path(), &self.path)
            }
            Target::Special(_) | Target::Stdout(_) => {
                Err(error(Problem::reading(io::ErrorKind::NotSeekable.into())))
            }
        }
    }

    /// Makes all that was written appear at the path.
    ///
    /// # Errors
    /// [`Error`] if not all can be written out to the disk, or if a file has appeared at the path
    /// since and `overwrite` is not set. Nothing has changed there then.
    pub fn finish(self) -> Result<(), Error> {
        let Output { path, overwrite, target } = self;
        target.finish(overwrite).map_err(|problem| Error::at(&path, "stdout", problem))
    }
}

impl Target {
    fn create(path: &Path, overwrite: bool) -> Result<Target, Problem> {
        if is_stream(path) {
            return Ok(Target::Stdout(io::stdout()));
        }
        let (place, found) = find_place(path, overwrite)?;
        if let Found::Special = found {
            let file = File::options().write(true).open(&place).map_err(Problem::writing)?;
            return Ok(Target::Special(file));
        }
        let (file, entry) = temporary(&place, &found)?;
        Ok(Target::Replace(file, place, entry))
    }

    fn finish(self, overwrite: bool) -> Result<(), Problem> {
        let (file, place, _entry) = match self {
            Target::Replace(file, place, entry) => (file, place, entry),
            Target::Special(mut file) => return file.flush().map_err(Problem::writing),
            Target::Stdout(mut stdout) => return stdout.flush().map_err(Problem::writing),
        };
        file.as_file().sync_all().map_err(Problem::writing)?;
        let persisted = if overwrite {
            if let Found::Regular(metadata) = find(&place, overwrite)? {
                let permissions = file.as_file().set_permissions(metadata.permissions());
                permissions.map_err(Problem::writing)?;
            }
            file.persist(&place)
        } else {
            file.persist_noclobber(&place)
        };
        match persisted {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Problem::Exists)
            }
            Err(error) => {
                Err(Problem::Io { doing: "rename the finished file", source: error.error })
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Replace(file, ..) => file.as_file_mut().write(bytes),
            Target::Special(file) => file.write(bytes),
            Target::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Replace(file, ..) => file.as_file_mut().flush(),
            Target::Special(file) => file.flush(),
            Target::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// A temporary file beside `place`, for nobody's eyes who may not see what it replaces.
fn temporary(place: &Path, found: &Found) -> Result<(NamedTempFile, Entry), Problem> {
    let mut builder = tempfile::Builder::new();
    // Short, so that it fits wherever the name of the output does.
    builder.prefix(".trundle-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system takes from it what the process must not give.
        let new = fs::Permissions::from_mode(0o666);
        builder.permissions(match found {
            Found::Regular(metadata) => metadata.permissions(),
            Found::Nothing | Found::Special => new,
        });
    }
    // No moment lies between its creation and its entry, nor one for a removal.
    let mut unfinished = unfinished();
    if unfinished.removed {
        return Err(creating(io::ErrorKind::Interrupted.into()));
    }
    let file = builder.tempfile_in(folder_of(place)).map_err(creating)?;
    unfinished.files.insert(file.path().to_owned());
    let entry = Entry(file.path().to_owned());
    Ok((file, entry))
}

fn creating(source: io::Error) -> Problem {
    // What an error that is not the system's own tells is the name of the temporary file.
    let source = match source.raw_os_error() {
        Some(_) => source,
        None => source.kind().into(),
    };
    Problem::Io { doing: "create a file in its folder", source }
}

/// The folder that `path` is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The place that `path` means, and what is there now.
fn find_place(path: &Path, overwrite: bool) -> Result<(PathBuf, Found), Problem> {
    let place = follow_links(path).map_err(Problem::writing)?;
    let found = find(&place, overwrite)?;
    Ok((place, found))
}

/// What is at `place`; a regular file only if `overwrite` allows to replace it.
fn find(place: &Path, overwrite: bool) -> Result<Found, Problem> {
    match fs::metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(Problem::writing(error)),
        Ok(metadata) if metadata.is_dir() => Err(Problem::Folder),
        Ok(metadata) if !metadata.is_file() => Ok(Found::Special),
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(metadata) => Ok(Found::Regular(metadata)),
    }
}

/// Where the symbolic links at `path` lead, also if nothing is there.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => {
                place = folder_of(&place).join(fs::read_link(&place)?);
            }
            _ => return Ok(place),
        }
    }
    Err(io::Error::other(format!("more than {MAX_LINKS} symbolic links lead to each other")))
}
