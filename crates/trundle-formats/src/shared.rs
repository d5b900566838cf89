//! The interface to an output that several processes write, and the list of files that this process has written.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use crate::{Blob, FileSkeleton, Problem};

/// The place of an output that several processes write. [`SharedOutput`](crate::SharedOutput) documents the methods.
pub(crate) trait Shared: Debug + Send + Sync {
    fn id(&self) -> Option<String>;

    fn is_there(&self) -> bool;

    /// Opens the output for writing, which adds to `written`.
    fn blob(
        &self,
        skeleton: &FileSkeleton,
        written: Arc<WrittenFiles>,
    ) -> Result<Box<dyn Blob>, Problem>;

    fn has(&self, path: &str, bytes: u64) -> bool;

    fn work_file(&self, name: &str) -> io::Result<File>;

    fn noted(&self, name: &str) -> io::Result<Option<String>>;

    fn note(&self, name: &str, text: &str) -> io::Result<()>;

    fn note_planned(&self) -> io::Result<()>;

    fn unnote(&self, name: &str);

    fn sync(&self) -> io::Result<()>;

    fn finish(&self) -> Result<(), Problem>;
}

/// The files that this process has written to a shared output.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(Mutex<Vec<(String, u64)>>);

impl WrittenFiles {
    /// Records a file: its path in the output, and its size in bytes.
    #[cfg(feature = "zarr")]
    pub(crate) fn note(&self, path: String, bytes: u64) {
        lock(&self.0).push((path, bytes));
    }

    /// Returns the files recorded since the last call.
    pub(crate) fn take(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut *lock(&self.0))
    }
}
