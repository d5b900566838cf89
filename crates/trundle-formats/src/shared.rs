//! The interface of an output that several processes write, and the list of files that this process has
//! written.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Blob, FileSkeleton, Problem};

/// Storage in which several processes write one output.
pub(crate) trait Shared: Debug + Send + Sync {
    /// As [`SharedOutput::id`](crate::SharedOutput::id).
    fn id(&self) -> Option<String>;

    /// As [`SharedOutput::is_there`](crate::SharedOutput::is_there).
    fn is_there(&self) -> bool;

    /// As [`SharedOutput::blob`](crate::SharedOutput::blob).
    fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Problem>;

    /// Returns the files that were written through this value.
    fn written(&self) -> &WrittenFiles;

    /// As [`SharedOutput::has`](crate::SharedOutput::has).
    fn has(&self, path: &str, bytes: u64) -> bool;

    /// As [`SharedOutput::work_file`](crate::SharedOutput::work_file).
    fn work_file(&self, name: &str) -> io::Result<File>;

    /// As [`SharedOutput::noted`](crate::SharedOutput::noted).
    fn noted(&self, name: &str) -> io::Result<Option<String>>;

    /// As [`SharedOutput::note`](crate::SharedOutput::note).
    fn note(&self, name: &str, text: &str) -> io::Result<()>;

    /// As [`SharedOutput::note_planned`](crate::SharedOutput::note_planned).
    fn note_planned(&self) -> io::Result<()>;

    /// As [`SharedOutput::unnote`](crate::SharedOutput::unnote).
    fn unnote(&self, name: &str);

    /// As [`SharedOutput::sync`](crate::SharedOutput::sync).
    fn sync(&self) -> io::Result<()>;

    /// As [`SharedOutput::finish`](crate::SharedOutput::finish).
    fn finish(&self) -> Result<(), Problem>;
}

/// The files that this process has written to a shared output.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(Mutex<Vec<(String, u64)>>);

impl WrittenFiles {
    /// Records a file: its path in the output, and its size in bytes.
    #[cfg(feature = "zarr")]
    pub(crate) fn note(&self, path: String, bytes: u64) {
        self.lock().push((path, bytes));
    }

    /// Returns the files that were noted since the last call.
    pub(crate) fn take(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
