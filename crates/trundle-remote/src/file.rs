//! Objects that are read at any position.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use object_store::{GetRange, GetResult};

use crate::remote::Remote;
use crate::version::{Version, changed};

/// The size in bytes of a part of a file that is kept. Headers are read in short parts, so that a request for each part
/// would take long.
const BLOCK_BYTES: u64 = 512 << 10;

/// The number of parts that are kept for all files of the process, 32 MiB together.
const MOST_BLOCKS: usize = 64;

/// The largest request in bytes.
const MOST_REQUESTED: u64 = 16 << 20;

type Block = Arc<Mutex<Option<Arc<Vec<u8>>>>>;

/// The kept parts by the number of the file and their own, with those last used at the end. The lock of a part is held
/// while it is requested.
static KEPT: Mutex<VecDeque<((u64, u64), Block)>> = Mutex::new(VecDeque::new());

/// The number of files that were opened.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// An object that threads read at any position. It must not change in the meantime: that is an error of the next read.
#[derive(Debug)]
pub struct RemoteFile {
    remote: Remote,
    version: Version,
    number: u64,
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        kept().retain(|((file, _), _)| *file != self.number);
    }
}

/// Returns a part that may be kept, and keeps it as the one last used.
fn part(key: (u64, u64)) -> Block {
    let mut blocks = kept();
    let at = blocks.iter().position(|(kept, _)| *kept == key);
    let block = at.and_then(|at| blocks.remove(at)).map_or_else(Block::default, |(_, it)| it);
    if blocks.len() == MOST_BLOCKS {
        blocks.pop_front();
    }
    blocks.push_back((key, Arc::clone(&block)));
    block
}

fn kept() -> MutexGuard<'static, VecDeque<((u64, u64), Block)>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file, or for a server that does not send parts of files a stream.
pub enum Opened {
    /// A file.
    File(RemoteFile),
    /// The bytes from front to back.
    Stream(Box<dyn Read + Send>),
}

impl RemoteFile {
    /// Opens the object at a URL, and reads its first part. Returns its name too, the last component of its path.
    ///
    /// # Errors
    /// If the object does not exist, is empty, or cannot be read.
    pub fn open(url: &str) -> io::Result<(String, Opened)> {
        let remote = Remote::open(url)?;
        let name = remote.name().to_owned();
        let mut first = (Version::default(), Vec::new());
        let begin = |got: &GetResult, (version, bytes): &mut (Version, Vec<u8>)| {
            *version = Version::of(&got.meta);
            bytes.clear();
            Ok(())
        };
        let take = |(_, bytes): &mut (Version, Vec<u8>), part: &[u8]| {
            bytes.extend_from_slice(part);
            Ok(())
        };
        let missing = || io::Error::new(io::ErrorKind::NotFound, "does not exist");
        let range = GetRange::Bounded(0..BLOCK_BYTES);
        match remote.get("", Some(range), &mut first, begin, take) {
            Ok(got) => got.ok_or_else(missing)?,
            Err(error) if error.kind() == io::ErrorKind::Unsupported && remote.is_http() => {
                let stream = remote.stream("")?.ok_or_else(missing)?;
                return Ok((name, Opened::Stream(Box::new(stream))));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "is empty"));
            }
            Err(error) => return Err(error),
        }
        let (version, bytes) = first;
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        *part((number, 0)).lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(bytes));
        Ok((name, Opened::File(RemoteFile { remote, version, number })))
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.version.bytes
    }

    /// Returns the time of the last write, if the server states it.
    pub fn modified(&self) -> Option<SystemTime> {
        self.version.modified
    }

    /// Returns the entity tag, if the server states one.
    pub fn tag(&self) -> Option<&str> {
        self.version.tag.as_deref()
    }

    /// Reads bytes at `offset`, and returns their number. It may be less than requested, but is 0 only at the end.
    ///
    /// # Errors
    /// If the bytes cannot be read, or the object has changed.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.bytes().saturating_sub(offset).min(buffer.len() as u64);
        if left >= BLOCK_BYTES {
            let count = left.min(MOST_REQUESTED) as usize;
            self.request(&mut buffer[..count], offset)?;
            return Ok(count);
        }
        if left == 0 {
            return Ok(0);
        }
        let block = self.block(offset / BLOCK_BYTES)?;
        let rest = &block[(offset % BLOCK_BYTES) as usize..];
        let count = rest.len().min(left as usize);
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    /// Returns a part, and requests it if it is not kept.
    fn block(&self, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let block = part((self.number, number));
        let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = &*block {
            return Ok(Arc::clone(bytes));
        }
        let begin = number * BLOCK_BYTES;
        let mut bytes = vec![0; (self.bytes() - begin).min(BLOCK_BYTES) as usize];
        self.request(&mut bytes, begin)?;
        Ok(Arc::clone(block.insert(Arc::new(bytes))))
    }

    fn request(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let range = GetRange::Bounded(offset..offset + buffer.len() as u64);
        let begin = |got: &GetResult, (_, at): &mut (&mut [u8], usize)| {
            *at = 0;
            Version::of(&got.meta).check(&self.version)
        };
        let take = |(buffer, at): &mut (&mut [u8], usize), part: &[u8]| {
            let place = buffer.get_mut(*at..*at + part.len()).ok_or_else(changed)?;
            place.copy_from_slice(part);
            *at += part.len();
            Ok(())
        };
        match self.remote.get("", Some(range), &mut (buffer, 0), begin, take) {
            Ok(Some(())) => Ok(()),
            Ok(None) => {
                Err(io::Error::new(io::ErrorKind::NotFound, "was removed while it was read"))
            }
            // The object has become shorter.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(changed()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_blocks_of_all_files_have_one_limit() {
        for file in 0..1000 {
            part((file, 0));
        }
        assert_eq!(kept().len(), MOST_BLOCKS);
        kept().clear();
    }
}
