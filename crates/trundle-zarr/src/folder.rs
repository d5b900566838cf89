//! The files of a store, as they are read.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use zarrs::storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs::storage::{
    Bytes, MaybeBytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
};

/// The folder of a store, for one array. What is longer than expected is refused before it is read.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    /// The most bytes that are expected of a file: first of metadata, then of a chunk.
    most: AtomicU64,
}

impl Folder {
    pub(crate) fn new(root: PathBuf, most: u64) -> Folder {
        Folder { root, most: AtomicU64::new(most) }
    }

    /// Expects files of `most` bytes at most from now on.
    pub(crate) fn expect(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// The file of a key, if it is there, which has no more bytes than are expected.
    pub(crate) fn file(&self, key: &StoreKey) -> Result<Option<File>, StorageError> {
        let Some((file, bytes)) = self.open(key)? else { return Ok(None) };
        self.check(bytes)?;
        Ok(Some(file))
    }

    fn check(&self, bytes: u64) -> Result<(), StorageError> {
        let most = self.most();
        if bytes <= most {
            return Ok(());
        }
        let why = format!("is {bytes} bytes, where {most} at most were expected");
        Err(StorageError::Other(why))
    }

    /// A regular file, and its bytes; none if nothing is there, which is a chunk that was never written.
    pub(crate) fn open(&self, key: &StoreKey) -> Result<Option<(File, u64)>, StorageError> {
        let path = self.root.join(key.as_str());
        // A pipe would wait for somebody to write before it says that it is none.
        match fs::metadata(&path) {
            Ok(found) if !found.is_file() => {
                return Err(StorageError::Other("is not a regular file".to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let file = File::open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Some((file, bytes)))
    }
}

/// The next bytes of a file that has so many.
fn read(file: &File, bytes: u64) -> Result<Vec<u8>, StorageError> {
    let mut read = Vec::new();
    let room = usize::try_from(bytes).unwrap_or(usize::MAX);
    let reserved = read.try_reserve_exact(room);
    reserved.map_err(|_| StorageError::Other(format!("no memory for {bytes} bytes")))?;
    file.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}

impl ReadableStorageTraits for Folder {
    fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        let Some((file, bytes)) = self.open(key)? else { return Ok(None) };
        self.check(bytes)?;
        Ok(Some(read(&file, bytes)?.into()))
    }

    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let Some((mut file, all)) = self.open(key)? else { return Ok(None) };
        Ok(Some(Box::new(ranges.map(move |range| {
            let within = match range {
                ByteRange::FromStart(start, None) => Some(start..all),
                ByteRange::FromStart(start, Some(length)) => {
                    start.checked_add(length).map(|end| start..end)
                }
                ByteRange::Suffix(length) => all.checked_sub(length).map(|start| start..all),
            };
            let is_there = |range: &Range<u64>| range.start <= range.end && range.end <= all;
            let within = within.filter(is_there).ok_or_else(|| {
                StorageError::Other(format!("its index leads out of its {all} bytes"))
            })?;
            let length = within.end - within.start;
            if length > self.most() {
                let why = format!("has a part of {length} bytes, more than were expected");
                return Err(StorageError::Other(why));
            }
            file.seek(SeekFrom::Start(within.start))?;
            Ok(Bytes::from(read(&file, length)?))
        }))))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.open(key)?.map(|(_, bytes)| bytes))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}
