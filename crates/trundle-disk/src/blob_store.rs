//! Stores the blobs that a run writes in addition to its output: journals and intermediates.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use trundle_formats::{Begin, Blob, Problem, TemporaryFile, lock};

/// The blobs of a run, found by key. In a folder, each blob is a temporary file.
pub(crate) trait BlobStore: Sync {
    /// Opens or creates the blob of `key`, as `begin` requires. Dropping the store removes the blob, unless it is
    /// [kept](BlobStore::keep).
    ///
    /// # Errors
    /// [`Problem::Busy`] if another process uses the blob. [`Problem::Io`] if it cannot be created, or does not exist
    /// when a run is resumed.
    fn open(&self, key: &str, begin: Begin) -> Result<Box<dyn Blob>, Problem>;

    /// Creates a blob without a key. It is removed when it is dropped.
    ///
    /// # Errors
    /// If the blob cannot be created.
    fn unnamed(&self) -> io::Result<Box<dyn Blob>>;

    /// Sets whether the blobs with keys remain when the run ends.
    fn keep(&self, kept: bool);

    /// Removes the blob with the key `key`, if this store has opened it.
    fn remove(&self, key: &str);
}

/// Temporary files in a folder. The key is the extension of the file name. A later run with the same tag (for the same
/// output and plan) finds the files again.
#[derive(Debug)]
pub(crate) struct RunFiles {
    folder: PathBuf,
    tag: String,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    files: BTreeMap<String, TemporaryFile>,
    kept: bool,
}

impl RunFiles {
    pub(crate) fn new(folder: PathBuf, tag: String) -> RunFiles {
        RunFiles { folder, tag, open: Mutex::default() }
    }
}

impl BlobStore for RunFiles {
    fn open(&self, key: &str, begin: Begin) -> Result<Box<dyn Blob>, Problem> {
        let mut open = lock(&self.open);
        let mut file = TemporaryFile::tagged(&self.folder, &self.tag, key, begin, None)?;
        if open.kept {
            file.keep(true);
        }
        let blob = file.file().try_clone();
        open.files.insert(key.to_owned(), file);
        Ok(Box::new(blob.map_err(|source| Problem::Io { doing: "open", source })?))
    }

    fn unnamed(&self) -> io::Result<Box<dyn Blob>> {
        Ok(Box::new(tempfile::tempfile_in(&self.folder)?))
    }

    fn keep(&self, kept: bool) {
        let mut open = lock(&self.open);
        open.kept = kept;
        open.files.values_mut().for_each(|file| file.keep(kept));
    }

    fn remove(&self, key: &str) {
        if let Some(mut file) = lock(&self.open).files.remove(key) {
            file.keep(false);
        }
    }
}
