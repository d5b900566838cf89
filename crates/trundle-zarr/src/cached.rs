//! Files that were written, and that the system's cache has until they are on the disk.

#[cfg(target_os = "linux")]
use std::collections::VecDeque;
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};

/// Files of so many bytes are written out to the disk as soon as they are there.
#[cfg(target_os = "linux")]
const LARGE_BYTES: u64 = 1 << 20;

/// So many files, and so many bytes of them, stay in the cache: memory that it gives back is used for the next
/// ones, and costs less than what was never used.
#[cfg(target_os = "linux")]
const MOST_FILES: usize = 64;
#[cfg(target_os = "linux")]
const MOST_BYTES: u64 = 256 << 20;

/// The large files that were written last, each with its bytes.
#[derive(Debug, Default)]
pub(crate) struct CachedFiles {
    #[cfg(target_os = "linux")]
    files: Mutex<VecDeque<(File, u64)>>,
}

impl CachedFiles {
    /// Takes a file of so many bytes that was just written. Whoever ends a store waits until all of its files are on
    /// the disk: large ones are on their way there then, while others are still made.
    ///
    /// # Errors
    /// None: what the system does not write out now, it does later.
    #[cfg(target_os = "linux")]
    #[allow(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn add(&self, file: File, bytes: u64) -> io::Result<()> {
        if bytes < LARGE_BYTES {
            return Ok(());
        }
        // Of what is not on the disk nothing is forgotten, but it is written.
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

    /// Waits until a file that was just written is on the disk.
    ///
    /// # Errors
    /// If it cannot be written out.
    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self, reason = "elsewhere they are kept")]
    pub(crate) fn add(&self, file: File, _bytes: u64) -> io::Result<()> {
        file.sync_all()
    }
}

/// Asks the system to forget what of a file is on the disk, and to write what is not. If it cannot, it does so later.
#[cfg(target_os = "linux")]
fn forget(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}
