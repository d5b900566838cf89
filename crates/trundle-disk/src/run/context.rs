//! The parameters of a run: its files, options and observer.

use std::io;
use std::path::{Path, PathBuf};

use trundle_formats::{Begin, Blob, TensorFile, overlaps};

use crate::blob_store::BlobStore;
use crate::error::{Error, reading, temporary, writing};
use crate::plan::job::Job;
use crate::recovery::journal::SourceIdentity;
use crate::recovery::key_of_pass;

/// The options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Whether to replace an existing output.
    pub overwrite: bool,
    /// Whether to read the output back and compare it with the source.
    pub verify: bool,
    /// Whether to resume an earlier run.
    pub resume: bool,
}

/// Observes a run, and can stop it.
pub trait Observer: Sync {
    /// Is called when a phase that handles `bytes` bytes begins.
    fn phase(&self, name: &str, bytes: u64);

    /// Is called when `bytes` more bytes of the phase are done.
    fn advance(&self, bytes: u64);

    /// Returns whether to stop the run. Several threads may call this, several times a second. The run then fails with
    /// [`Problem::Stopped`](crate::Problem::Stopped), and leaves the same files as after an error of reading or
    /// writing.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Is called with true when the run becomes resumable: if it ends early, only the work since this call is lost. Is
    /// called with false when the run is no longer resumable.
    fn resumable(&self, _is: bool) {}
}

/// An observer that ignores all calls.
impl Observer for () {
    fn phase(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// The outcome of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The time of moving elements in memory, in seconds.
    pub move_seconds: f64,
    /// Whether the output was read back and verified.
    pub verified: bool,
    /// Whether the run resumed an earlier one.
    pub resumed: bool,
}

/// A file that a job reads.
pub struct Source<'a> {
    /// The file for which the job was planned.
    pub file: &'a mut TensorFile,
    /// The name of the file in messages.
    pub path: &'a Path,
}

impl Source<'_> {
    pub(crate) fn file(&self) -> SourceFile<'_> {
        SourceFile { blob: self.file.blob(), path: self.path }
    }

    /// Returns whether an output at `path` would replace the file, or another file with its data.
    pub(crate) fn is_replaced_by(&self, path: &Path) -> bool {
        let data_files = self.file.data_files().iter().map(PathBuf::as_path);
        data_files.chain([self.path]).any(|own| overlaps(path, own))
    }

    /// Identifies the file; `None` if another run could not open it again, such as a stream.
    pub(crate) fn identity(&self) -> Result<Option<SourceIdentity>, Error> {
        let Some(blob) = self.file.blob() else { return Ok(None) };
        SourceIdentity::of(blob).map_err(reading(self.path))
    }

    /// Copies a tensor to `out` in a progress phase with this name. This verifies the file's checksum if it has one.
    pub(crate) fn copy_in_phase(
        &mut self,
        tensor: usize,
        out: &mut impl io::Write,
        (name, observer): (&str, &dyn Observer),
    ) -> Result<(), Error> {
        observer.phase(name, self.file.headers()[tensor].data_bytes as u64);
        let mut so_far = 0;
        let mut advance = |bytes: u64| {
            observer.advance(bytes - so_far);
            so_far = bytes;
        };
        Ok(self.file.copy_to(tensor, out, &mut advance)?)
    }
}

/// A source that several threads read.
#[derive(Clone, Copy)]
pub(crate) struct SourceFile<'a> {
    /// `None` for a stream.
    pub(crate) blob: Option<&'a dyn Blob>,
    pub(crate) path: &'a Path,
}

impl<'a> SourceFile<'a> {
    /// Returns the bytes of the source.
    ///
    /// # Errors
    /// If the source is a stream.
    pub(crate) fn seekable(self) -> Result<&'a dyn Blob, Error> {
        let not_seekable = || reading(self.path)(io::ErrorKind::NotSeekable.into());
        self.blob.ok_or_else(not_seekable)
    }
}

/// A job with its files and options, constant during a run.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) job: &'a Job,
    pub(crate) path: &'a Path,
    pub(crate) target: &'a dyn Blob,
    pub(crate) store: &'a dyn BlobStore,
    /// The folder of temporary files in messages; `None` if they are unnamed, in the system's temporary folder.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) options: RunOptions,
    pub(crate) observer: &'a dyn Observer,
    /// The name of the phase that moves elements; `None` for "moving" or "copying".
    pub(crate) moving: Option<&'static str>,
}

impl Context<'_> {
    /// Opens the intermediate of a pass. It has a name if the context has a folder.
    pub(crate) fn of_pass(&self, pass: usize, begin: Begin) -> Result<Box<dyn Blob>, Error> {
        let Some(folder) = self.folder else { return self.unnamed() };
        let opened = self.store.open(&key_of_pass(pass), begin);
        opened.map_err(|problem| Error::file(folder, problem))
    }

    pub(crate) fn unnamed(&self) -> Result<Box<dyn Blob>, Error> {
        self.store.unnamed().map_err(|error| self.writing_intermediate(error))
    }

    /// Converts an error of writing the output. The output of a stream is first written to a temporary file.
    pub(crate) fn writing(&self, error: io::Error) -> Error {
        match self.folder {
            Some(_) => writing(self.path)(error),
            None => temporary(None)(error),
        }
    }

    pub(crate) fn writing_intermediate(&self, error: io::Error) -> Error {
        temporary(self.folder)(error)
    }

    pub(crate) fn no_memory(&self, bytes: usize) -> Error {
        Error::file(self.path, trundle_formats::Problem::NoMemory { bytes })
    }
}
