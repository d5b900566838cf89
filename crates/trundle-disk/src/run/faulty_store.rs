//! A store in memory that simulates faults: short reads and writes, full disks, and power failures that lose data that
//! was not synced.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use trundle_formats::{Begin, Blob, Problem};

use crate::blob_store::BlobStore;

/// The faults to simulate. The counters are the operations that succeed before the first fault.
#[derive(Debug)]
pub(crate) struct Faults {
    /// The most bytes that a single read or write transfers.
    pub(crate) at_once: usize,
    pub(crate) reads: AtomicUsize,
    /// Changes: writes, resizes and syncs.
    pub(crate) changes: AtomicUsize,
    /// The keys of the values that were synced, in the order of the syncs.
    pub(crate) synced: Mutex<Vec<String>>,
}

impl Default for Faults {
    fn default() -> Faults {
        let (reads, changes) = (usize::MAX.into(), usize::MAX.into());
        Faults { at_once: usize::MAX, reads, changes, synced: Mutex::default() }
    }
}

fn counted(left: &AtomicUsize, kind: io::ErrorKind) -> io::Result<()> {
    let counted = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    counted.map(drop).map_err(|_| kind.into())
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyBlob {
    key: String,
    faults: Arc<Faults>,
    bytes: Arc<Mutex<Vec<u8>>>,
    safe: Arc<Mutex<Option<Vec<u8>>>>,
}

impl FaultyBlob {
    pub(crate) fn new(bytes: &[u8], faults: Faults) -> FaultyBlob {
        let bytes = Arc::new(Mutex::new(bytes.to_vec()));
        FaultyBlob { faults: Arc::new(faults), bytes, ..FaultyBlob::default() }
    }

    pub(crate) fn all(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

impl Blob for FaultyBlob {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        counted(&self.faults.reads, io::ErrorKind::Other)?;
        let contents = self.bytes.lock().unwrap();
        let rest = &contents[contents.len().min(offset as usize)..];
        let read = buffer.len().min(self.faults.at_once).min(rest.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        counted(&self.faults.changes, io::ErrorKind::StorageFull)?;
        let (mut contents, at) = (self.bytes.lock().unwrap(), offset as usize);
        let written = bytes.len().min(self.faults.at_once);
        let end = contents.len().max(at + written);
        contents.resize(end, 0);
        contents[at..at + written].copy_from_slice(&bytes[..written]);
        Ok(written)
    }

    fn resize(&self, bytes: u64) -> io::Result<()> {
        counted(&self.faults.changes, io::ErrorKind::StorageFull)?;
        self.bytes.lock().unwrap().resize(bytes as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        counted(&self.faults.changes, io::ErrorKind::StorageFull)?;
        *self.safe.lock().unwrap() = Some(self.all());
        self.faults.synced.lock().unwrap().push(self.key.clone());
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(crate) struct MemoryStore {
    pub(crate) faults: Arc<Faults>,
    values: Mutex<BTreeMap<String, FaultyBlob>>,
}

impl MemoryStore {
    pub(crate) fn new(faults: Faults) -> MemoryStore {
        MemoryStore { faults: Arc::new(faults), ..MemoryStore::default() }
    }

    /// Returns the store after a power failure, without further faults.
    pub(crate) fn after_power_failed(&self) -> MemoryStore {
        let after = MemoryStore::default();
        for (key, value) in &*self.values.lock().unwrap() {
            let Some(safe) = value.safe.lock().unwrap().clone() else { continue };
            let faults = after.faults.clone();
            let bytes = Arc::new(Mutex::new(safe));
            let value = FaultyBlob { key: key.clone(), faults, bytes, ..FaultyBlob::default() };
            after.values.lock().unwrap().insert(key.clone(), value);
        }
        after
    }

    pub(crate) fn value(&self, key: &str) -> Option<FaultyBlob> {
        self.values.lock().unwrap().get(key).cloned()
    }

    pub(crate) fn synced(&self) -> Vec<String> {
        self.faults.synced.lock().unwrap().clone()
    }
}

impl BlobStore for MemoryStore {
    fn open(&self, key: &str, begin: Begin) -> Result<Box<dyn Blob>, Problem> {
        let mut values = self.values.lock().unwrap();
        if begin == Begin::Anew {
            let (key, faults) = (key.to_owned(), self.faults.clone());
            values.insert(key.clone(), FaultyBlob { key, faults, ..FaultyBlob::default() });
        }
        let missing = || Problem::Io { doing: "open", source: io::ErrorKind::NotFound.into() };
        Ok(Box::new(values.get(key).ok_or_else(missing)?.clone()))
    }

    fn unnamed(&self) -> io::Result<Box<dyn Blob>> {
        Ok(Box::new(FaultyBlob { faults: self.faults.clone(), ..FaultyBlob::default() }))
    }

    fn keep(&self, _: bool) {}

    fn remove(&self, key: &str) {
        self.values.lock().unwrap().remove(key);
    }
}
