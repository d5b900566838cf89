//! An output that several processes write to a local folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;

use crate::blob::nanoseconds;
use crate::format::{FolderFormat, NewFolder};
use crate::names::folder_of;
use crate::output::{find_destination, find_folder_destination, follow_links, sync_folder};
use crate::shared::{Shared, WrittenFiles};
use crate::temporary_file::{begin_finishing, creating, is_at, lock, remove, take_lock};
use crate::temporary_folder::{rename_to_destination, sync_below};
use crate::temporary_name::TemporaryName;
use crate::url::url_of;
use crate::{Blob, FileSkeleton, Format, Problem};

/// The note in the work folder that the plan of the tasks was exported.
pub(crate) const PLANNED: &str = "planned";

/// An output that several processes write, under a temporary name next to its final path.
///
/// The work folder next to it has what the processes share: the files of passes, and notes about finished parts.
#[derive(Debug)]
pub(crate) struct SharedFolder {
    destination: PathBuf,
    overwrite: bool,
    part: PathBuf,
    work: PathBuf,
    /// The work folder, opened with a shared lock; `None` where folders cannot be opened.
    taken: Option<File>,
    format: Option<FolderFormat>,
}

/// Returns the work folder for the output at `path` and the run `tag`.
pub(crate) fn work_folder(path: &Path, tag: &str) -> PathBuf {
    let name = TemporaryName::of(tag, "tasks");
    if url_of(path).is_some() {
        return std::env::temp_dir().join(name);
    }
    let destination = follow_links(path).unwrap_or_else(|_| path.to_owned());
    folder_of(&destination).join(name)
}

impl SharedFolder {
    pub(crate) fn begin(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
        skeleton: &FileSkeleton,
    ) -> Result<SharedFolder, Problem> {
        let mut shared = SharedFolder::at(format, path, overwrite, tag)?;
        create_private(&shared.work).map_err(creating)?;
        let made = shared.create(skeleton);
        if made.is_err() {
            [&shared.part, &shared.work].into_iter().for_each(|path| remove(path));
        }
        made.map(|()| shared)
    }

    /// Joins an output that another process has begun. `id` identifies it, see [`id_of`]. Returns `Err(is_finished)` if
    /// it is no longer being written.
    pub(crate) fn join(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
        id: Option<&str>,
    ) -> Result<Result<SharedFolder, bool>, Problem> {
        // `begin` has already checked whether the output may be overwritten.
        let mut shared = SharedFolder::at(format, path, true, tag)?;
        shared.overwrite = overwrite;
        // After an exchange, the replaced folder is at `part` until it is removed. If the process ended before that,
        // only the identifier shows that the output is finished.
        let is_finished = id.is_some() && id == id_of(&shared.destination).as_deref();
        match !is_finished && shared.take()? && shared.part.exists() {
            true => Ok(Ok(shared)),
            false => Ok(Err(is_finished)),
        }
    }

    pub(crate) fn discard(path: &Path, tag: &str) -> Result<(), Problem> {
        let work = work_folder(path, tag);
        let taken = match File::open(&work) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.map_err(creating)?),
        };
        // This lock keeps other processes from joining during the removal.
        taken.iter().try_for_each(lock)?;
        if taken.as_ref().is_some_and(|taken| is_at(taken, &work)) || cfg!(not(unix)) {
            remove(&part_of(&work));
            remove(&work);
        }
        Ok(())
    }

    fn at(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
    ) -> Result<SharedFolder, Problem> {
        let destination = match format.folder {
            Some(folder) => find_folder_destination(path, overwrite, folder)?,
            None => find_destination(path, overwrite)?.0,
        };
        let work = work_folder(path, tag);
        Ok(SharedFolder {
            destination,
            overwrite,
            part: part_of(&work),
            work,
            taken: None,
            format: format.folder,
        })
    }

    fn create(&mut self, skeleton: &FileSkeleton) -> Result<(), Problem> {
        if !self.take()? {
            return Err(Problem::Busy);
        }
        if let Some(format) = self.format {
            fs::create_dir(&self.part).map_err(creating)?;
            (format.begin)(NewFolder::Alone(&self.part), skeleton)?;
        } else {
            let file = File::create_new(&self.part).map_err(creating)?;
            file.resize(skeleton.bytes()).map_err(Problem::writing)?;
            if let Ok(found) = fs::metadata(&self.destination) {
                file.set_permissions(found.permissions()).map_err(Problem::writing)?;
            }
        }
        self.sync().map_err(Problem::writing)
    }

    /// Takes the shared lock of the work folder. Returns whether the folder still exists.
    fn take(&mut self) -> Result<bool, Problem> {
        if cfg!(not(unix)) {
            return Ok(self.work.is_dir());
        }
        let folder = match File::open(&self.work) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(creating)?,
        };
        take_lock(|| folder.try_lock_shared())?;
        let is_there = is_at(&folder, &self.work);
        self.taken = Some(folder);
        Ok(is_there)
    }

    fn of_work(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }
}

impl Shared for SharedFolder {
    fn id(&self) -> Option<String> {
        id_of(&self.part)
    }

    fn is_there(&self) -> bool {
        self.taken.as_ref().map_or(self.work.exists(), |taken| is_at(taken, &self.work))
    }

    fn blob(
        &self,
        skeleton: &FileSkeleton,
        written: Arc<WrittenFiles>,
    ) -> Result<Box<dyn Blob>, Problem> {
        let Some(format) = self.format else {
            let file = File::options().read(true).write(true).open(&self.part);
            return Ok(Box::new(file.map_err(Problem::writing)?));
        };
        let shared = NewFolder::Shared { folder: &self.part, made_in: &self.work, written };
        (format.begin)(shared, skeleton)
    }

    fn has(&self, path: &str, bytes: u64) -> bool {
        fs::metadata(self.part.join(path)).is_ok_and(|found| found.len() == bytes)
    }

    fn work_file(&self, name: &str) -> io::Result<File> {
        File::options().read(true).write(true).create(true).truncate(false).open(self.of_work(name))
    }

    fn noted(&self, name: &str) -> io::Result<Option<String>> {
        match fs::read_to_string(self.of_work(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn note(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.work)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.of_work(name))?;
        sync_folder(&self.work);
        Ok(())
    }

    fn note_planned(&self) -> io::Result<()> {
        self.note(PLANNED, "")
    }

    fn unnote(&self, name: &str) {
        // It is not an error if there was no such note.
        let _ = fs::remove_file(self.of_work(name));
    }

    fn sync(&self) -> io::Result<()> {
        let part = File::open(&self.part)?;
        if self.format.is_some() { sync_below(&part) } else { part.sync_all() }
    }

    fn finish(&self) -> Result<(), Problem> {
        if let Some(taken) = &self.taken {
            lock(taken)?;
        }
        // While this process waited for the lock, another may have finished or removed the output.
        if !self.is_there() {
            return Err(Problem::Busy);
        }
        self.sync().map_err(Problem::writing)?;
        begin_finishing().map_err(Problem::writing)?;
        let replaced = match self.format {
            Some(format) => {
                rename_to_destination(&self.part, &self.destination, self.overwrite, format)?
            }
            None => rename_file(&self.part, &self.destination, self.overwrite).map(|()| None)?,
        };
        sync_folder(folder_of(&self.destination));
        replaced.iter().chain([&self.work]).for_each(|path| remove(path));
        Ok(())
    }
}

fn part_of(work: &Path) -> PathBuf {
    work.with_extension("part")
}

/// Creates a folder that only this user can access.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns an identifier of the file or folder at `path` that no earlier one at that path had.
///
/// It includes the creation time, because inode numbers are reused. Returns `None` if the system does not report that
/// time.
#[cfg(unix)]
fn id_of(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    let found = fs::symlink_metadata(path).ok()?;
    let made = nanoseconds(found.created().ok()?);
    Some(format!("{}-{made}", found.ino()))
}

#[cfg(not(unix))]
fn id_of(_: &Path) -> Option<String> {
    None
}

/// Renames a file. Replaces an existing file only if `overwrite` is true.
fn rename_file(path: &Path, destination: &Path, overwrite: bool) -> Result<(), Problem> {
    let temporary = TempPath::try_from_path(path).map_err(creating)?;
    let renamed = match overwrite {
        true => temporary.persist(destination),
        false => temporary.persist_noclobber(destination),
    };
    renamed.map_err(|error| {
        // Keep the file at its temporary path.
        let _ = error.path.keep();
        match error.error.kind() {
            io::ErrorKind::AlreadyExists if !overwrite => Problem::Exists,
            _ => Problem::Io { doing: "rename the finished file", source: error.error },
        }
    })
}
