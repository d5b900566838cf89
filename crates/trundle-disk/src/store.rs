//! The interface to the blobs that a run writes in addition to its output: journals and intermediates.

use std::io;

use trundle_formats::{Begin, Blob, Problem};

/// The blobs of a run by key; in a folder, each is a temporary file.
pub(crate) trait Store: Sync {
    /// Opens the blob of `key`, new or existing. It is removed with the store unless it is [kept](Store::keep).
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process uses it, [`Problem::Io`] if it cannot be created, or does not exist when
    /// resuming.
    fn open(&self, key: &str, begin: Begin) -> Result<Box<dyn Blob>, Problem>;

    /// Creates a blob without a key, which is removed when it is dropped.
    ///
    /// # Errors
    /// If it cannot be created.
    fn unnamed(&self) -> io::Result<Box<dyn Blob>>;

    /// Sets whether the blobs with keys remain when the run ends.
    fn keep(&self, kept: bool);

    /// Removes the blob of `key`, which this store has opened.
    fn remove(&self, key: &str);
}
