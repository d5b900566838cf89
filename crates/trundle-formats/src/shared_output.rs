//! Outputs that several processes write together.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "zarr")]
use crate::bucket_output::BucketOutput;
use crate::shared::{Shared, WrittenFiles};
#[cfg(feature = "zarr")]
use crate::shared_bucket::{begin_in_bucket, join_in_bucket};
use crate::shared_folder::{SharedFolder, work_folder};
use crate::url::url_of;
use crate::{Blob, Error, FileSkeleton, Format, Output, Problem};

/// An output that several processes write, and that one of them [finishes](SharedOutput::finish).
///
/// Until then it has a temporary name, and remains if processes end. The processes also share intermediates of passes,
/// and notes about finished parts. Two processes may write the same part.
///
/// While a process has one open, [`leftovers`](crate::leftovers) reports it as in use, except in a bucket.
#[derive(Debug)]
pub struct SharedOutput {
    path: PathBuf,
    tag: String,
    shared: Box<dyn Shared>,
    written: Arc<WrittenFiles>,
}

/// The result of joining a shared output.
#[derive(Debug)]
pub enum Joined {
    /// The output is being written.
    Begun(SharedOutput),
    /// A process has finished the output, which is now at its path.
    Finished,
    /// There is no such output.
    Gone,
}

impl SharedOutput {
    /// Begins the output at `path` in `format`, with the layout `skeleton` and a unique [tag](SharedOutput::tag).
    ///
    /// # Errors
    /// [`Error`] if the path exists and `overwrite` is false, if its folder accepts no new files, or if it is a stream.
    pub fn begin(
        format: &Format,
        path: &Path,
        overwrite: bool,
        skeleton: &FileSkeleton,
    ) -> Result<SharedOutput, Error> {
        let tag = Output::new_tag(path);
        let begin = || -> Result<Box<dyn Shared>, Problem> {
            if let Some(url) = url_of(path) {
                return begin_in_bucket(format, url, overwrite, &tag, skeleton);
            }
            Ok(Box::new(SharedFolder::begin(format, path, overwrite, &tag, skeleton)?))
        };
        let shared = begin().map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(SharedOutput::new(path, tag, shared))
    }

    fn new(path: &Path, tag: String, shared: Box<dyn Shared>) -> SharedOutput {
        SharedOutput { path: path.to_owned(), tag, shared, written: Arc::default() }
    }

    /// Joins an output that another process has begun. `id` is the [`SharedOutput::id`] of that output.
    ///
    /// # Errors
    /// [`Error`] if the output cannot be opened; [`Problem::Busy`] while a process finishes or removes it.
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
            Ok(shared) => Joined::Begun(SharedOutput::new(path, tag.to_owned(), shared)),
            Err(true) => Joined::Finished,
            Err(false) => Joined::Gone,
        })
    }

    /// Removes the output at `path` with this `tag`. If it is finished, removes only shared files that the finishing
    /// process left behind.
    ///
    /// # Errors
    /// [`Error`] if it cannot be opened; [`Problem::Busy`] if a process writes it.
    pub fn discard(path: &Path, tag: &str) -> Result<(), Error> {
        #[cfg(feature = "zarr")]
        if let Some(url) = url_of(path) {
            let discarded = BucketOutput::discard(url, tag);
            discarded.map_err(|problem| Error::at(path, "stdout", problem))?;
        }
        SharedFolder::discard(path, tag).map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// Returns the folder of the other shared files. For an output in a bucket, only processes on the same machine
    /// share it.
    pub fn work_folder(path: &Path, tag: &str) -> PathBuf {
        work_folder(path, tag)
    }

    /// Returns the tag that other processes use to find the output.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Returns an identifier that no earlier output at the same path had, if the system provides one.
    pub fn id(&self) -> Option<String> {
        self.shared.id()
    }

    /// Returns whether the output still exists: neither finished nor removed by another process.
    pub fn is_there(&self) -> bool {
        self.shared.is_there()
    }

    /// Opens the output for writes at any offset. `skeleton` is the layout of the file.
    ///
    /// # Errors
    /// [`Error`] if the output cannot be opened.
    pub fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Error> {
        self.shared.blob(skeleton, Arc::clone(&self.written)).map_err(|problem| self.error(problem))
    }

    /// Returns the path in the folder and the size in bytes of each file of a folder output that was written through
    /// this value since the last call.
    pub fn written(&self) -> Vec<(String, u64)> {
        self.written.take()
    }

    /// Returns whether a folder output has a file with this path and size.
    pub fn has(&self, path: &str, bytes: u64) -> bool {
        self.shared.has(path, bytes)
    }

    /// Opens the file with this name, which all processes share, and creates it if needed.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn work_file(&self, name: &str) -> io::Result<File> {
        self.shared.work_file(name)
    }

    /// Returns the text of a note; `None` if there is no such note.
    ///
    /// # Errors
    /// If the note cannot be read.
    pub fn noted(&self, name: &str) -> io::Result<Option<String>> {
        self.shared.noted(name)
    }

    /// Writes a note to the disk atomically.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note(&self, name: &str, text: &str) -> io::Result<()> {
        self.shared.note(name, text)
    }

    /// Notes that the plan of the tasks was exported, so that a new run no longer
    /// [removes](crate::Leftover::is_planned) the output.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note_planned(&self) -> io::Result<()> {
        self.shared.note_planned()
    }

    /// Removes a note.
    pub fn unnote(&self, name: &str) {
        self.shared.unnote(name);
    }

    /// Waits until everything written to the output would survive a power failure.
    ///
    /// # Errors
    /// If the data cannot be written to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.shared.sync()
    }

    /// Gives the output its final name, and removes the other shared files.
    ///
    /// # Errors
    /// [`Error`] if it cannot be renamed; it can then be finished later. [`Problem::Busy`] if a process still writes
    /// it.
    pub fn finish(self) -> Result<(), Error> {
        self.shared.finish().map_err(|problem| self.error(problem))?;
        if url_of(&self.path).is_some() {
            // Shared files on this machine do no harm if they remain.
            let _ = SharedFolder::discard(&self.path, &self.tag);
        }
        Ok(())
    }

    fn error(&self, problem: Problem) -> Error {
        Error::at(&self.path, "stdout", problem)
    }
}

#[cfg(not(feature = "zarr"))]
fn begin_in_bucket(
    _: &Format,
    _: &str,
    _: bool,
    _: &str,
    _: &FileSkeleton,
) -> Result<Box<dyn Shared>, Problem> {
    Err(crate::url::no_remote())
}

#[cfg(not(feature = "zarr"))]
fn join_in_bucket(_: &Format, _: &str, _: &str) -> Result<Result<Box<dyn Shared>, bool>, Problem> {
    Err(crate::url::no_remote())
}
