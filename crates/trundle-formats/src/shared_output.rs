//! An output that several processes write together, until one of them finishes it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;

use tempfile::TempPath;

use crate::blob::nanoseconds;
use crate::format::{FolderFormat, NewFolder};
use crate::output::{find_folder_place, find_place, folder_of, follow_links, sync_folder};
use crate::temporary_file::{LOCK_TRIES, LOCK_WAIT, creating, is_at, lock};
use crate::temporary_folder::{remove, rename_to_place, sync_below};
use crate::temporary_name::{TemporaryName, random_tag};
use crate::{Blob, Error, FileSkeleton, Format, Output, Problem};

/// An output that several processes write, of which two may write the same. It is beside its place until
/// one of them [finishes](SharedOutput::finish) it, and stays there whoever ends early; another folder beside
/// it has what else they share: the files of passes, and which parts of the work are done.
///
/// As long as a process has one, [`leftovers`](crate::leftovers) knows that it is in use.
#[derive(Debug)]
pub struct SharedOutput {
    path: PathBuf,
    place: PathBuf,
    tag: String,
    overwrite: bool,
    /// What becomes the output.
    part: PathBuf,
    work: PathBuf,
    /// The folder of the work, taken together with other processes; none where folders cannot be opened.
    taken: Option<File>,
    format: Option<FolderFormat>,
    sharing: Arc<Sharing>,
}

/// What of an output that several processes write is there.
#[derive(Debug)]
pub enum Joined {
    /// It is being written.
    Begun(SharedOutput),
    /// One of them has finished it: it is at its place.
    Finished,
    /// Nothing of it.
    Gone,
}

/// How the files of a folder are written by several processes: each is made in another folder and then
/// renamed.
#[derive(Debug)]
pub(crate) struct Sharing {
    #[cfg_attr(not(feature = "zarr"), allow(dead_code, reason = "no other format has folders"))]
    pub(crate) made_in: PathBuf,
    written: Mutex<Vec<(String, u64)>>,
}

impl Sharing {
    /// Notes a file: its path in the folder, and its bytes.
    #[cfg(feature = "zarr")]
    pub(crate) fn note(&self, path: String, bytes: u64) {
        self.written().push((path, bytes));
    }

    fn written(&self) -> MutexGuard<'_, Vec<(String, u64)>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedOutput {
    /// Begins the output at `path` in `format`, which is `skeleton` beside its data, under a
    /// [tag](SharedOutput::tag) that no other has.
    ///
    /// # Errors
    /// [`Error`] if it exists and `overwrite` is not set, if it cannot be created in its folder, or is no file
    /// or folder but a stream.
    pub fn begin(
        format: &Format,
        path: &Path,
        overwrite: bool,
        skeleton: &FileSkeleton,
    ) -> Result<SharedOutput, Error> {
        let begin = || {
            let tag = random_tag(&Output::tag(path));
            let mut shared = SharedOutput::at(format, path, overwrite, &tag)?;
            create_private(&shared.work).map_err(creating)?;
            let made = shared.create(skeleton);
            if made.is_err() {
                [&shared.part, &shared.work].into_iter().for_each(|path| remove(path));
            }
            made.map(|()| shared)
        };
        begin().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// The output that was begun like this, to write to it too. Its part of `id` is what was begun.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened, [`Problem::Busy`] while a process finishes or removes it.
    pub fn join(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
        id: Option<&str>,
    ) -> Result<Joined, Error> {
        let join = || {
            // Whether it may be overwritten was asked when it was begun.
            let mut shared = SharedOutput::at(format, path, true, tag)?;
            shared.overwrite = overwrite;
            let is_begun = shared.take()? && shared.part.exists();
            match is_begun {
                true => Ok(Joined::Begun(shared)),
                false if id.is_some() && id == id_of(&shared.place).as_deref() => {
                    Ok(Joined::Finished)
                }
                false => Ok(Joined::Gone),
            }
        };
        join().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// Removes what is left of the output at `path` that was begun with `tag`: all of it if it is not finished, else
    /// what a process had no time for that ended right after that.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened, [`Problem::Busy`] if a process writes to it.
    pub fn discard(path: &Path, tag: &str) -> Result<(), Error> {
        let work = SharedOutput::work_folder(path, tag);
        let locked = || match File::open(&work) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let taken = opened.map_err(creating)?;
                lock(&taken)?;
                Ok(is_at(&taken, &work).then_some(taken))
            }
        };
        // As long as it is removed, nobody joins.
        let taken = locked().map_err(|problem| Error::at(path, "stdout", problem))?;
        if taken.is_some() || cfg!(not(unix)) {
            remove(&part_of(&work));
            remove(&work);
        }
        Ok(())
    }

    /// The folder with what the processes share besides.
    pub fn work_folder(path: &Path, tag: &str) -> PathBuf {
        let place = follow_links(path).unwrap_or_else(|_| path.to_owned());
        folder_of(&place).join(TemporaryName::of(tag, "tasks"))
    }

    fn at(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
    ) -> Result<SharedOutput, Problem> {
        let place = match format.folder() {
            Some(folder) => find_folder_place(path, overwrite, folder)?,
            None => find_place(path, overwrite)?.0,
        };
        let work = SharedOutput::work_folder(path, tag);
        let sharing = Sharing { made_in: work.clone(), written: Mutex::default() };
        Ok(SharedOutput {
            path: path.to_owned(),
            place,
            tag: tag.to_owned(),
            overwrite,
            part: part_of(&work),
            work,
            taken: None,
            format: format.folder(),
            sharing: Arc::new(sharing),
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
            if let Ok(found) = fs::metadata(&self.place) {
                file.set_permissions(found.permissions()).map_err(Problem::writing)?;
            }
        }
        self.sync().map_err(Problem::writing)
    }

    /// Takes the folder of the work together with others; whether it is there.
    fn take(&mut self) -> Result<bool, Problem> {
        if cfg!(not(unix)) {
            return Ok(self.work.is_dir());
        }
        let folder = match File::open(&self.work) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(creating)?,
        };
        for _ in 0..LOCK_TRIES {
            match folder.try_lock_shared() {
                Err(TryLockError::WouldBlock) => sleep(LOCK_WAIT),
                // Where folders cannot be locked, it is the user's to remove nothing that is in use.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    let is_there = is_at(&folder, &self.work);
                    self.taken = Some(folder);
                    return Ok(is_there);
                }
            }
        }
        Err(Problem::Busy)
    }

    /// By what other processes find it.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// What tells the output, wherever it is, from any other that was ever at its place, where the system
    /// has something of the kind.
    pub fn id(&self) -> Option<String> {
        id_of(&self.part)
    }

    /// Whether what it shares is where it was: nobody has removed or finished it.
    pub fn is_there(&self) -> bool {
        self.taken.as_ref().map_or(self.work.exists(), |taken| is_at(taken, &self.work))
    }

    /// What is behind it, for writes at any place of what is `skeleton`.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened.
    pub fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Error> {
        let blob = match self.format {
            Some(format) => {
                let shared = NewFolder::Shared(&self.part, Arc::clone(&self.sharing));
                (format.begin)(shared, skeleton)
            }
            None => {
                let file = File::options().read(true).write(true).open(&self.part);
                file.map(|file| -> Box<dyn Blob> { Box::new(file) }).map_err(Problem::writing)
            }
        };
        blob.map_err(|problem| self.error(problem))
    }

    /// The files of a folder that were written through this: their paths in it, and their bytes.
    pub fn written(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut *self.sharing.written())
    }

    /// Whether a file of a folder is there with so many bytes.
    pub fn has(&self, path: &str, bytes: u64) -> bool {
        fs::metadata(self.part.join(path)).is_ok_and(|found| found.len() == bytes)
    }

    /// A file of this name that all processes share beside the output.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn work_file(&self, name: &str) -> io::Result<File> {
        File::options().read(true).write(true).create(true).truncate(false).open(self.of_work(name))
    }

    /// The text that was noted under this name; `None` if nothing was.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn noted(&self, name: &str) -> io::Result<Option<String>> {
        match fs::read_to_string(self.of_work(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes a text under a name, on the disk, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.work)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.of_work(name))?;
        sync_folder(&self.work);
        Ok(())
    }

    /// Forgets what was noted under a name.
    pub fn unnote(&self, name: &str) {
        // If nothing was, so much the better.
        let _ = fs::remove_file(self.of_work(name));
    }

    /// Waits until what was written to it would survive a power failure.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn sync(&self) -> io::Result<()> {
        let part = File::open(&self.part)?;
        if self.format.is_some() { sync_below(&part) } else { part.sync_all() }
    }

    /// Gives the output its name, and removes what the processes shared besides.
    ///
    /// # Errors
    /// [`Error`] if it cannot have it: it stays as it is, to be finished later. [`Problem::Busy`] if a process
    /// still writes to it.
    pub fn finish(self) -> Result<(), Error> {
        let finish = || {
            if let Some(taken) = &self.taken {
                lock(taken)?;
            }
            // Until the lock was had, another may have done this, or removed it.
            if !self.is_there() {
                return Err(Problem::Busy);
            }
            self.sync().map_err(Problem::writing)?;
            let replaced = match self.format {
                Some(format) => rename_to_place(&self.part, &self.place, self.overwrite, format)?,
                None => rename_file(&self.part, &self.place, self.overwrite).map(|()| None)?,
            };
            sync_folder(folder_of(&self.place));
            replaced.iter().chain([&self.work]).for_each(|path| remove(path));
            Ok(())
        };
        finish().map_err(|problem| self.error(problem))
    }

    fn of_work(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    fn error(&self, problem: Problem) -> Error {
        Error::at(&self.path, "stdout", problem)
    }
}

/// Where what becomes the output is, beside the folder of the work.
fn part_of(work: &Path) -> PathBuf {
    work.with_extension("part")
}

/// A new folder for nobody else's eyes.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// What tells a file or a folder from any other that was ever there, if it is there and the system tells when
/// it was made: numbers alone are given again.
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

/// Gives a file another name, over what is there only if `overwrite` is set.
fn rename_file(path: &Path, place: &Path, overwrite: bool) -> Result<(), Problem> {
    let temporary = TempPath::try_from_path(path).map_err(creating)?;
    let renamed = match overwrite {
        true => temporary.persist(place),
        false => temporary.persist_noclobber(place),
    };
    renamed.map_err(|error| {
        // It stays where it is.
        let _ = error.path.keep();
        match error.error.kind() {
            io::ErrorKind::AlreadyExists if !overwrite => Problem::Exists,
            _ => Problem::Io { doing: "rename the finished file", source: error.error },
        }
    })
}
