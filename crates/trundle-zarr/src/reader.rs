//! Adapts an [`ObjectStore`] to the storage trait of zarrs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarrs::storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs::storage::{
    Bytes, MaybeBytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
};

use crate::cores::off_the_core;
use crate::object_store::{ObjectStore, Part};

/// The objects of one array. Refuses objects that are larger than expected before reading them.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The largest expected object in bytes: first of metadata, then of a chunk.
    most: AtomicU64,
}

impl Reader {
    pub(crate) fn new(objects: Arc<dyn ObjectStore>, most: u64) -> Reader {
        Reader { objects, most: AtomicU64::new(most) }
    }

    pub(crate) fn expect(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl ReadableStorageTraits for Reader {
    fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        let read = off_the_core(|| self.objects.read(key.as_str(), Part::All, self.most()))?;
        Ok(read.map(Bytes::from))
    }

    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let mut parts = Vec::new();
        for range in ranges {
            let part = match range {
                ByteRange::FromStart(start, None) => Part::From(start),
                ByteRange::FromStart(start, Some(length)) => Part::Range(start, length),
                ByteRange::Suffix(length) => Part::Last(length),
            };
            // If one part is missing, the object is missing.
            match off_the_core(|| self.objects.read(key.as_str(), part, self.most())) {
                Ok(None) => return Ok(None),
                Ok(Some(read)) => parts.push(Ok(Bytes::from(read))),
                Err(error) => parts.push(Err(error.into())),
            }
        }
        Ok(Some(Box::new(parts.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(off_the_core(|| self.objects.stat(key.as_str()))?.map(|found| found.bytes))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}
