//! Bytes that several threads read and write at any place: a file, or bytes in memory. How an output
//! appears whole under its name, and how one process keeps others away, is none of this: see
//! [`Output`](crate::Output) and [`TemporaryFile`](crate::TemporaryFile).

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// What tells whether what is read is still what it was: not where it is, which another mount or another
/// machine may change, but two of one size and one time differ in their samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobIdentity {
    /// How many bytes there are.
    pub bytes: u64,
    /// When they were last written to, in nanoseconds since 1970.
    pub modified: u128,
    /// Some of them, or what is said of some of them.
    pub samples: Vec<u8>,
}

/// How many samples of a file are taken, the first at its begin and the last at its end.
const SAMPLES: u64 = 16;

/// The bytes of each.
const SAMPLE_BYTES: u64 = 4 << 10;

/// A time in nanoseconds since 1970.
pub(crate) fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// A chunk as it is encoded.
#[derive(Debug)]
pub enum EncodedChunk {
    /// In a file of its own, which the system copies by itself.
    File(File),
    /// In memory.
    Bytes(Vec<u8>),
    /// Where a store is that may be copied to without bringing it here.
    #[cfg(feature = "zarr")]
    Elsewhere(Box<dyn trundle_zarr::Elsewhere>),
}

/// Bytes that several threads read and write at once, at any place. What is only read has nothing to say
/// of writing.
pub trait Blob: Debug + Send + Sync {
    /// How many bytes it has.
    ///
    /// # Errors
    /// If that cannot be found out.
    fn bytes(&self) -> io::Result<u64>;

    /// Reads bytes at `offset`, as many as come at once, and says how many; none only at the end.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at `offset`, as many as go at once, and says how many.
    ///
    /// # Errors
    /// If they cannot be written.
    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Makes it so long, and reserves what it has no place for yet, so that none is lacking later.
    ///
    /// # Errors
    /// If there is no place.
    fn resize(&self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Waits until what was written would survive a power failure.
    ///
    /// # Errors
    /// If it cannot be written there.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Says that the bytes at `offset` are not needed soon.
    fn forget(&self, _offset: u64, _bytes: u64) {}

    /// Says how many threads will read from it at once: one that unpacks what is read keeps a part for
    /// each of them.
    fn expect_readers(&self, _readers: usize) {}

    /// Whether whoever writes a run of bytes does so in one go, however long it is: what packs them needs all
    /// of a chunk.
    fn takes_whole(&self) -> bool {
        false
    }

    /// A chunk, or a shard where there are some, as it is encoded: the one at `index` of the tensor whose data
    /// begins at byte `tensor`. None if there is none, and it is the fill value throughout.
    ///
    /// # Errors
    /// If it cannot be opened, or the data is not in chunks.
    fn encoded_chunk(&self, _tensor: u64, _index: &[usize]) -> io::Result<Option<EncodedChunk>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes such a chunk.
    ///
    /// # Errors
    /// If it cannot be written, or the data is not in chunks.
    fn write_encoded_chunk(
        &self,
        _tensor: u64,
        _index: &[usize],
        _chunk: EncodedChunk,
    ) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// The local file that it is, whose disk can be measured.
    fn file(&self) -> Option<&File> {
        None
    }

    /// What tells whether it is still what it was; `None` of what another process would not find again.
    ///
    /// # Errors
    /// If it cannot be read.
    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        Ok(None)
    }

    /// Fills `buffer` from the bytes at `offset`.
    ///
    /// # Errors
    /// As [`Blob::read_at`], and [`io::ErrorKind::UnexpectedEof`] if it ends before.
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
    /// As [`Blob::write_at`].
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

/// A blob from front to back.
#[derive(Debug)]
pub struct Sequential<'a>(&'a dyn Blob, u64);

impl<'a> Sequential<'a> {
    /// From its first byte on.
    pub fn new(blob: &'a dyn Blob) -> Sequential<'a> {
        Sequential(blob, 0)
    }
}

impl Read for Sequential<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(buffer, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}

impl Write for Sequential<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write_at(bytes, self.1)?;
        self.1 += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A local file, read and written through the system's page cache: requests past it were slower
/// wherever we measured (docs/kernels.md).
impl Blob for File {
    fn bytes(&self) -> io::Result<u64> {
        self.metadata().map(|found| found.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, buffer, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, buffer, offset);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(self, bytes, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_write(self, bytes, offset);
    }

    fn resize(&self, bytes: u64) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if bytes > 0 {
            use rustix::io::Errno;

            match rustix::fs::fallocate(self, rustix::fs::FallocateFlags::empty(), 0, bytes) {
                // A file system that cannot reserve, or a call that a sandbox does not know.
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

    /// Lets the system forget the bytes, and write those to the disk that are not there yet. A file
    /// that passes through once would else push out of its cache what others need; and new pages for
    /// it cost more than those that it has just used. Elsewhere than on Linux the system decides.
    #[cfg(target_os = "linux")]
    fn forget(&self, offset: u64, bytes: u64) {
        let bytes = std::num::NonZeroU64::new(bytes);
        // It is advice: that it was not taken is no failure.
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
        // Of a file that is no longer than its samples, all.
        let distance = if bytes <= SAMPLES * SAMPLE_BYTES { SAMPLE_BYTES } else { distance };
        for (index, sample) in samples.chunks_mut(SAMPLE_BYTES as usize).enumerate() {
            self.read_exact_at(sample, index as u64 * distance)?;
        }
        Ok(Some(BlobIdentity { bytes, modified: nanoseconds(metadata.modified()?), samples }))
    }
}

/// Bytes in memory, which are only read.
impl<T: AsRef<[u8]> + Debug + Send + Sync> Blob for Cursor<T> {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.get_ref().as_ref().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let held = self.get_ref().as_ref();
        let mut rest = usize::try_from(offset).ok().and_then(|at| held.get(at..)).unwrap_or(&[]);
        rest.read(buffer)
    }
}
