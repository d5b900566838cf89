//! Limits how much of the written files stays in the page cache.

#[cfg(target_os = "linux")]
use std::collections::VecDeque;
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};

/// The system begins to write files of at least this size to the disk immediately.
#[cfg(target_os = "linux")]
const LARGE_BYTES: u64 = 1 << 20;

/// The most files that stay in the page cache. Reusing freed pages of the cache costs less than using new memory.
#[cfg(target_os = "linux")]
const MOST_FILES: usize = 64;
/// The most bytes of files that stay in the page cache.
#[cfg(target_os = "linux")]
const MOST_BYTES: u64 = 256 << 20;

/// The large files that were written last, each with its size in bytes.
#[derive(Debug, Default)]
pub(crate) struct CachedFiles {
    #[cfg(target_os = "linux")]
    files: Mutex<VecDeque<(File, u64)>>,
}

impl CachedFiles {
    /// Starts writing a new file of `bytes` bytes to the disk, so that the final sync of the store has little to do.
    /// Removes the oldest files from the page cache.
    ///
    /// # Errors
    /// None on Linux: the system writes the rest later.
    #[cfg(target_os = "linux")]
    #[allow(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn add(&self, file: File, bytes: u64) -> io::Result<()> {
        if bytes < LARGE_BYTES {
            return Ok(());
        }
        // This does not remove pages that are not yet on the disk, but the system starts to write them.
        forget(&file);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.push_back((file, bytes));
        let mut all: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        let mut past = Vec::new();
        while files.len() > MOST_FILES || all > MOST_BYTES {
            let Some((file, bytes)) = files.pop_front() else { break };
            all -= bytes;
            past.push(file);
        }
        drop(files);
        past.iter().for_each(forget);
        Ok(())
    }

    /// Waits until a new file is on the disk.
    ///
    /// # Errors
    /// If the file cannot be synced.
    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self, reason = "elsewhere they are kept")]
    pub(crate) fn add(&self, file: File, _bytes: u64) -> io::Result<()> {
        file.sync_all()
    }
}

/// Asks the system to remove the pages of a file that are on the disk, and to write the others. This is only advice, so
/// errors are ignored.
#[cfg(target_os = "linux")]
fn forget(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}
