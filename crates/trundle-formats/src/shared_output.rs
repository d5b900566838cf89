//! An output that several processes write together, until one of them finishes it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "s3")]
use crate::bucket_output::BucketOutput;
#[cfg(feature = "s3")]
use crate::format::FolderFormat;
#[cfg(feature = "s3")]
use crate::output::only_stores;
use crate::shared::Shared;
use crate::shared_folder::{SharedFolder, work_folder};
use crate::temporary_name::random_tag;
use crate::url::url_of;
use crate::{Blob, Error, FileSkeleton, Format, Output, Problem};

/// An output that several processes write, of which two may write the same. It is hidden until one of them
/// [finishes](SharedOutput::finish) it, and stays there whoever ends early, with what else they share: the files of
/// passes, and which parts of the work are done.
///
/// As long as a process has one in a folder, [`leftovers`](crate::leftovers) knows that it is in use.
#[derive(Debug)]
pub struct SharedOutput {
    path: PathBuf,
    tag: String,
    shared: Box<dyn Shared>,
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
        let tag = random_tag(&Output::tag(path));
        let begin = || -> Result<Box<dyn Shared>, Problem> {
            if let Some(url) = url_of(path) {
                return begin_in_bucket(format, url, overwrite, &tag, skeleton);
            }
            Ok(Box::new(SharedFolder::begin(format, path, overwrite, &tag, skeleton)?))
        };
        let shared = begin().map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(SharedOutput { path: path.to_owned(), tag, shared })
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
        let join = || -> Result<Result<Box<dyn Shared>, bool>, Problem> {
            if let Some(url) = url_of(path) {
                return join_in_bucket(format, url, tag);
            }
            let joined = SharedFolder::join(format, path, overwrite, tag, id)?;
            Ok(joined.map(|shared| -> Box<dyn Shared> { Box::new(shared) }))
        };
        Ok(match join().map_err(|problem| Error::at(path, "stdout", problem))? {
            Ok(shared) => {
                Joined::Begun(SharedOutput { path: path.to_owned(), tag: tag.to_owned(), shared })
            }
            Err(true) => Joined::Finished,
            Err(false) => Joined::Gone,
        })
    }

    /// Removes what is left of the output at `path` that was begun with `tag`: all of it if it is not finished, else
    /// what a process had no time for that ended right after that.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened, [`Problem::Busy`] if a process writes to it.
    pub fn discard(path: &Path, tag: &str) -> Result<(), Error> {
        #[cfg(feature = "s3")]
        if let Some(url) = url_of(path) {
            let discarded = BucketOutput::discard(url, tag);
            discarded.map_err(|problem| Error::at(path, "stdout", problem))?;
        }
        SharedFolder::discard(path, tag).map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// The folder with what the processes share besides; of an output in a bucket, those on this machine.
    pub fn work_folder(path: &Path, tag: &str) -> PathBuf {
        work_folder(path, tag)
    }

    /// By what other processes find it.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// What tells the output, wherever it is, from any other that was ever at its place, where the system
    /// has something of the kind.
    pub fn id(&self) -> Option<String> {
        self.shared.id()
    }

    /// Whether what it shares is where it was: nobody has removed or finished it.
    pub fn is_there(&self) -> bool {
        self.shared.is_there()
    }

    /// What is behind it, for writes at any place of what is `skeleton`.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened.
    pub fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Error> {
        self.shared.blob(skeleton).map_err(|problem| self.error(problem))
    }

    /// The files of a folder that were written through this: their paths in it, and their bytes.
    pub fn written(&self) -> Vec<(String, u64)> {
        self.shared.written().take()
    }

    /// Whether a file of a folder is there with so many bytes.
    pub fn has(&self, path: &str, bytes: u64) -> bool {
        self.shared.has(path, bytes)
    }

    /// A file of this name that all processes share beside the output.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn work_file(&self, name: &str) -> io::Result<File> {
        self.shared.work_file(name)
    }

    /// The text that was noted under this name; `None` if nothing was.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn noted(&self, name: &str) -> io::Result<Option<String>> {
        self.shared.noted(name)
    }

    /// Notes a text under a name, on the disk, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&self, name: &str, text: &str) -> io::Result<()> {
        self.shared.note(name, text)
    }

    /// Notes that somebody has the plan of the tasks: what is begun is no longer
    /// [removed](crate::Leftover::is_planned) by a run that begins anew.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note_planned(&self) -> io::Result<()> {
        self.shared.note_planned()
    }

    /// Forgets what was noted under a name.
    pub fn unnote(&self, name: &str) {
        self.shared.unnote(name);
    }

    /// Waits until what was written to it would survive a power failure.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn sync(&self) -> io::Result<()> {
        self.shared.sync()
    }

    /// Gives the output its name, and removes what the processes shared besides.
    ///
    /// # Errors
    /// [`Error`] if it cannot have it: it stays as it is, to be finished later. [`Problem::Busy`] if a process
    /// still writes to it.
    pub fn finish(self) -> Result<(), Error> {
        self.shared.finish().map_err(|problem| self.error(problem))?;
        if url_of(&self.path).is_some() {
            // What those on this machine had beside a bucket; if it cannot be removed, it is in nobody's way.
            let _ = SharedFolder::discard(&self.path, &self.tag);
        }
        Ok(())
    }

    fn error(&self, problem: Problem) -> Error {
        Error::at(&self.path, "stdout", problem)
    }
}

/// What a format can do whose files can be in a bucket: one of folders.
#[cfg(feature = "s3")]
fn in_bucket(format: &Format) -> Result<FolderFormat, Problem> {
    format.folder().ok_or_else(only_stores)
}

#[cfg(feature = "s3")]
fn begin_in_bucket(
    format: &Format,
    url: &str,
    overwrite: bool,
    tag: &str,
    skeleton: &FileSkeleton,
) -> Result<Box<dyn Shared>, Problem> {
    let folder = in_bucket(format)?;
    Ok(Box::new(crate::shared_bucket::SharedBucket::begin(folder, url, overwrite, tag, skeleton)?))
}

#[cfg(not(feature = "s3"))]
fn begin_in_bucket(
    _: &Format,
    _: &str,
    _: bool,
    _: &str,
    _: &FileSkeleton,
) -> Result<Box<dyn Shared>, Problem> {
    Err(crate::url::no_s3())
}

/// What was begun; `Err` of whether it is finished.
#[cfg(feature = "s3")]
fn join_in_bucket(
    format: &Format,
    url: &str,
    tag: &str,
) -> Result<Result<Box<dyn Shared>, bool>, Problem> {
    let joined = crate::shared_bucket::SharedBucket::join(in_bucket(format)?, url, tag)?;
    Ok(joined.map(|shared| -> Box<dyn Shared> { Box::new(shared) }))
}

#[cfg(not(feature = "s3"))]
fn join_in_bucket(_: &Format, _: &str, _: &str) -> Result<Result<Box<dyn Shared>, bool>, Problem> {
    Err(crate::url::no_s3())
}
