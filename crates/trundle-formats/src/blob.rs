//! Random access by several threads to bytes in a file or in memory.
//!
//! [`Output`](crate::Output) and [`TemporaryFile`](crate::TemporaryFile) provide atomic outputs and locks.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::ops::Deref;
use std::time::{SystemTime, UNIX_EPOCH};

/// Identifies the content of a blob, so that a later run can detect changes.
///
/// Paths are excluded, because they differ between machines. Samples distinguish files of the same size and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobIdentity {
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last write, in nanoseconds since 1970.
    pub modified: u128,
    /// Sampled bytes, or metadata of sampled chunks.
    pub samples: Vec<u8>,
}

/// The number of samples of a file, from its start to its end.
const SAMPLES: u64 = 16;

const SAMPLE_BYTES: u64 = 4 << 10;

pub(crate) fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// An encoded chunk.
#[derive(Debug)]
pub enum EncodedChunk {
    /// A chunk in a file of its own, which the system can copy.
    File(File),
    /// A chunk in memory.
    Bytes(Vec<u8>),
    /// A chunk in a remote store, which can copy it without a download.
    #[cfg(feature = "zarr")]
    Elsewhere(Box<dyn trundle_zarr::Elsewhere>),
}

impl EncodedChunk {
    /// Returns the size in bytes.
    ///
    /// # Errors
    /// If the size of a file cannot be determined.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(match self {
            EncodedChunk::File(file) => file.metadata()?.len(),
            EncodedChunk::Bytes(bytes) => bytes.len() as u64,
            #[cfg(feature = "zarr")]
            EncodedChunk::Elsewhere(object) => object.bytes(),
        })
    }

    /// Returns a reader of the bytes. A chunk in a remote store is read whole.
    ///
    /// # Errors
    /// If a remote store cannot be read.
    pub fn reader(self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            EncodedChunk::File(file) => Box::new(file),
            EncodedChunk::Bytes(bytes) => Box::new(Cursor::new(bytes)),
            #[cfg(feature = "zarr")]
            EncodedChunk::Elsewhere(object) => Box::new(Cursor::new(object.read()?)),
        })
    }
}

/// Bytes that several threads read and write at any offset. Writing fails by default.
pub trait Blob: Debug + Send + Sync {
    /// Returns the size in bytes.
    ///
    /// # Errors
    /// If the size cannot be determined.
    fn bytes(&self) -> io::Result<u64>;

    /// Reads bytes at `offset`, and returns their number. It may be less than requested, but is 0 only at the end.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at `offset`, and returns their number, which may be less than given.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Sets the size and reserves the disk space, so that later writes do not run out of it.
    ///
    /// # Errors
    /// If there is not enough space.
    fn resize(&self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Waits until everything that was written would survive a power failure.
    ///
    /// # Errors
    /// If the data cannot be written to disk.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Writes what depends on all data, such as an index of the chunks. Each run of a job calls this after its last
    /// write.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    fn finish(&self) -> io::Result<()> {
        Ok(())
    }

    /// States that the bytes at `offset` will not be needed soon.
    fn forget(&self, _offset: u64, _bytes: u64) {}

    /// Sets the number of concurrent readers, which determines how many decoded chunks are cached.
    fn expect_readers(&self, _readers: usize) {}

    /// Returns whether each contiguous range should be written by a single call, because chunks are encoded as a whole.
    fn takes_whole(&self) -> bool {
        false
    }

    /// Returns the encoded shard or chunk at `index` of the tensor whose data begins at byte `tensor`; `None` if it was
    /// never written, so that all elements have the fill value.
    ///
    /// # Errors
    /// If the chunk cannot be opened, or the data is not in chunks.
    fn encoded_chunk(&self, _tensor: u64, _index: &[usize]) -> io::Result<Option<EncodedChunk>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes an encoded shard or chunk.
    ///
    /// # Errors
    /// If the chunk cannot be written, or the data is not in chunks.
    fn write_encoded_chunk(
        &self,
        _tensor: u64,
        _index: &[usize],
        _chunk: EncodedChunk,
    ) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Returns whether the data is in a remote store, so that an encoded chunk is held in memory while it is written.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the local file, whose disk can be measured; `None` if there is none.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Returns the identity of the content; `None` if another process could not open the blob again.
    ///
    /// # Errors
    /// If the blob cannot be read.
    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        Ok(None)
    }

    /// Fills `buffer` from the bytes at `offset`.
    ///
    /// # Errors
    /// The errors of [`Blob::read_at`], and [`io::ErrorKind::UnexpectedEof`] if the blob is too short.
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => (buffer, offset) = (&mut buffer[read..], offset + read as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The errors of [`Blob::write_at`].
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => (bytes, offset) = (&bytes[written..], offset + written as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A reader or writer that goes through a blob from front to back.
#[derive(Debug)]
pub struct Sequential<B>(B, u64);

impl<B: Deref<Target: Blob>> Sequential<B> {
    /// Starts at the first byte.
    pub fn new(blob: B) -> Sequential<B> {
        Sequential(blob, 0)
    }

    pub(crate) fn at(blob: B, offset: u64) -> Sequential<B> {
        Sequential(blob, offset)
    }
}

impl<B: Deref<Target: Blob>> Read for Sequential<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(buffer, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}

impl<B: Deref<Target: Blob>> Write for Sequential<B> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write_at(bytes, self.1)?;
        self.1 += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A local file, which is accessed through the page cache. Direct I/O was slower in all measurements (docs/kernels.md).
impl Blob for File {
    fn bytes(&self) -> io::Result<u64> {
        self.metadata().map(|found| found.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, buffer, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, buffer, offset);
        // A page has no files; it reads files in memory.
        #[cfg(not(any(unix, windows)))]
        return Err(io::Error::other(format!("no read of {} bytes at {offset}", buffer.len())));
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(self, bytes, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_write(self, bytes, offset);
        #[cfg(not(any(unix, windows)))]
        return Err(io::Error::other(format!("no write of {} bytes at {offset}", bytes.len())));
    }

    fn resize(&self, bytes: u64) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if bytes > 0 {
            use rustix::io::Errno;

            match rustix::fs::fallocate(self, rustix::fs::FallocateFlags::empty(), 0, bytes) {
                // The file system cannot reserve space, or a sandbox blocks the call.
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => {}
            }
        }
        self.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    /// Writes the pages to the disk and drops them from the page cache.
    ///
    /// A file that is used once would evict pages that other programs need, and fresh pages cost more than reused ones.
    /// On systems other than Linux, nothing is dropped.
    #[cfg(target_os = "linux")]
    fn forget(&self, offset: u64, bytes: u64) {
        let bytes = std::num::NonZeroU64::new(bytes);
        // This is only advice to the system, so errors do not matter.
        let _ = rustix::fs::fadvise(self, offset, bytes, rustix::fs::Advice::DontNeed);
    }

    fn file(&self) -> Option<&File> {
        Some(self)
    }

    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        let metadata = self.metadata()?;
        let bytes = metadata.len();
        let mut samples = vec![0; (bytes.min(SAMPLES * SAMPLE_BYTES)) as usize];
        let distance = bytes.saturating_sub(SAMPLE_BYTES) / (SAMPLES - 1);
        // The samples of a short file are contiguous and cover all of it.
        let distance = if bytes <= SAMPLES * SAMPLE_BYTES { SAMPLE_BYTES } else { distance };
        for (index, sample) in samples.chunks_mut(SAMPLE_BYTES as usize).enumerate() {
            self.read_exact_at(sample, index as u64 * distance)?;
        }
        Ok(Some(BlobIdentity { bytes, modified: nanoseconds(metadata.modified()?), samples }))
    }
}

/// Bytes in memory, which can only be read.
impl<T: AsRef<[u8]> + Debug + Send + Sync> Blob for Cursor<T> {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.get_ref().as_ref().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.get_ref().as_ref();
        let mut rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
        rest.read(buffer)
    }
}
