//! Where a run has what it writes beside its output, by keys: how far it is, what lies between passes.

use std::io;

use trundle_formats::{Begin, Blob, Problem};

/// The blobs of a run by their keys; in a folder a temporary file each.
pub(crate) trait Store: Sync {
    /// The blob of `key`, new and empty, or as it is there. It is gone with this store, unless it is
    /// [kept](Store::keep).
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process has it, [`Problem::Io`] if it cannot be made or, to be
    /// resumed, is not there.
    fn open(&self, key: &str, begin: Begin) -> Result<Box<dyn Blob>, Problem>;

    /// A blob without a key, which is gone when it is dropped.
    ///
    /// # Errors
    /// If it cannot be made.
    fn unnamed(&self) -> io::Result<Box<dyn Blob>>;

    /// Whether all blobs that have a key stay if the run ends now.
    fn keep(&self, kept: bool);

    /// Removes the blob of `key` that this store has opened.
    fn remove(&self, key: &str);
}
