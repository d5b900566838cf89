//! Implements the storage trait of zarrs for an [`ObjectStore`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarrs::storage::byte_range::ByteRangeIterator;
use zarrs::storage::{
    Bytes, MaybeBytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
};

use crate::cores::off_the_core;
use crate::object_store::{ByteRange, ObjectStore};

/// The objects of one array. Objects larger than expected are refused before they are read.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The bytes of the largest expected object: first the metadata, then a chunk.
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
        let read = off_the_core(|| self.objects.read(key.as_str(), ByteRange::All, self.most()))?;
        Ok(read.map(Bytes::from))
    }

    /// Is not called: chunks are read whole, and chunks of shards by [`Shards`](crate::shards::Shards).
    fn get_partial_many<'a>(
        &'a self,
        _: &StoreKey,
        _: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        Err(StorageError::Unsupported("objects are read whole".to_owned()))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(off_the_core(|| self.objects.stat(key.as_str()))?.map(|found| found.bytes))
    }

    fn supports_get_partial(&self) -> bool {
        false
    }
}
