//! An output that several processes write to a local folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;

use crate::file_identity::id_of;
use crate::format::{FolderFormat, NewFolder};
use crate::names::folder_of;
use crate::output::{find_destination, find_folder_destination, follow_links, sync_folder};
use crate::rename;
use crate::shared::{Shared, WrittenFiles};
use crate::shared_lock::SharedLock;
use crate::temporary_file::{begin_finishing, creating, remove};
use crate::temporary_folder::rename_to_destination;
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
    /// The lock of the work folder; `None` before it is taken.
    taken: Option<SharedLock>,
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
        // This lock keeps other processes from joining during the removal.
        if let Some(taken) = SharedLock::alone(&work)? {
            remove(&part_of(&work));
            taken.begin_removal();
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
        self.taken = SharedLock::share(&self.work)?;
        Ok(self.taken.is_some())
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
        self.taken.as_ref().is_some_and(SharedLock::is_there)
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
        let mut file = self.part.clone();
        file.extend(path.split('/'));
        fs::metadata(file).is_ok_and(|found| found.len() == bytes)
    }

    fn work_file(&self, name: &str) -> io::Result<File> {
        open_work_file(&self.of_work(name))
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
        let (file, path) = file.into_parts();
        drop(file);
        rename::persist(path, &self.of_work(name), true)?;
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
        match self.format {
            Some(_) => self.taken.as_ref().map_or(Ok(()), SharedLock::sync),
            None => File::options().write(true).open(&self.part)?.sync_all(),
        }
    }

    fn finish(&self) -> Result<(), Problem> {
        if let Some(taken) = &self.taken {
            taken.take_alone()?;
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
        if let Some(taken) = &self.taken {
            taken.begin_removal();
        }
        replaced.iter().chain([&self.work]).for_each(|path| remove(path));
        Ok(())
    }
}

fn part_of(work: &Path) -> PathBuf {
    work.with_extension("part")
}

/// Opens a file that several tasks use, and creates it if needed.
pub(crate) fn open_work_file(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Creates a folder that only this user can access.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;

        fs::DirBuilder::new().mode(0o700).create(path)
    }
    // On Windows, a new folder has the permissions of its parent.
    #[cfg(not(unix))]
    fs::create_dir(path)
}

/// Renames a file. Replaces an existing file only if `overwrite` is true.
fn rename_file(path: &Path, destination: &Path, overwrite: bool) -> Result<(), Problem> {
    let temporary = TempPath::try_from_path(path).map_err(creating)?;
    rename::persist(temporary, destination, overwrite).map_err(|mut error| {
        // Keep the file at its temporary path.
        error.path.disable_cleanup(true);
        match error.error.kind() {
            io::ErrorKind::AlreadyExists if !overwrite => Problem::Exists,
            _ => Problem::Io { doing: "rename the finished file", source: error.error },
        }
    })
}
