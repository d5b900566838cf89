//! Reads and writes at places of a file, from several threads at once.
//!
//! They go through the system's page cache: requests past it were slower wherever we measured
//! (docs/kernels.md). What has passed through is forgotten at once, so that the cache stays small and
//! other programs keep theirs.

use std::fs::File;
use std::io;

/// Waits until what was written to `file` is on the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    #[cfg(all(test, unix))]
    SYNCED.with_borrow_mut(|synced| {
        synced.extend(file.metadata().map(|found| std::os::unix::fs::MetadataExt::ino(&found)));
    });
    file.sync_data()
}

#[cfg(all(test, unix))]
thread_local! {
    /// The inodes of the files that this thread has synced: a disk that loses what was not cannot
    /// be had for a test.
    pub(crate) static SYNCED: std::cell::RefCell<Vec<u64>> = const {
        std::cell::RefCell::new(Vec::new())
    };
}

/// Fills `buffer` from the bytes at `offset`.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Writes `bytes` at `offset`.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Fills `buffer` from the bytes at `offset`.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (buffer, offset) = (&mut buffer[read..], offset + read as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes `bytes` at `offset`.
#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (bytes, offset) = (&bytes[written..], offset + written as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Lets the system forget the bytes at `offset`, and write those to the disk that are not there
/// yet. A file that passes through once would else push out of its cache what others need; and new
/// pages for it cost more than those that it has just used.
#[cfg(target_os = "linux")]
pub(crate) fn forget(file: &File, offset: u64, bytes: u64) {
    // It is advice: that it was not taken is no failure.
    let _ = rustix::fs::fadvise(
        file,
        offset,
        std::num::NonZeroU64::new(bytes),
        rustix::fs::Advice::DontNeed,
    );
}

/// Elsewhere the system decides.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget(_: &File, _: u64, _: u64) {}

/// Reserves the file's bytes on the disk, so that none is lacking later, and makes it so long.
///
/// # Errors
/// If the disk does not have them.
pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if bytes > 0 {
        use rustix::io::Errno;

        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            // A file system that cannot reserve, or a call that a sandbox does not know.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => {}
        }
    }
    file.set_len(bytes)
}
