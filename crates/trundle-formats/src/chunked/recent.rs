//! A cache of recently decoded chunks.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use crate::lock::lock;

/// The chunks that were read last, one for each reading thread.
#[derive(Debug)]
pub(crate) struct Recent(Mutex<CachedChunks>);

#[derive(Debug)]
struct CachedChunks {
    chunks: VecDeque<Arc<Decoded>>,
    most: usize,
}

/// A chunk that one thread decodes while others may wait for it.
#[derive(Debug)]
struct Decoded {
    begin: u64,
    bytes: OnceLock<Result<Vec<u8>, String>>,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent(Mutex::new(CachedChunks { chunks: VecDeque::new(), most: 1 }))
    }
}

impl Recent {
    pub(crate) fn expect_readers(&self, readers: usize) {
        lock(&self.0).most = readers.max(1);
    }

    /// Fills `buffer` from `offset` to the end of the chunk that begins at `begin`, and returns the number of bytes.
    /// Calls `decode` if the chunk is not cached.
    pub(crate) fn read(
        &self,
        begin: u64,
        offset: u64,
        buffer: &mut [u8],
        decode: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<usize> {
        let chunk = self.decoded(begin);
        let bytes = chunk.bytes.get_or_init(|| decode().map_err(|error| error.to_string()));
        let wrong = |why: &String| io::Error::new(io::ErrorKind::InvalidData, why.clone());
        let bytes = bytes.as_ref().map_err(wrong)?;
        let from = &bytes[(offset - begin) as usize..];
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    /// Returns the entry of the chunk that begins at `begin`, and adds it if needed.
    fn decoded(&self, begin: u64) -> Arc<Decoded> {
        let mut cached = lock(&self.0);
        if let Some(at) = cached.chunks.iter().position(|chunk| chunk.begin == begin)
            && let Some(known) = cached.chunks.remove(at)
        {
            cached.chunks.push_back(Arc::clone(&known));
            return known;
        }
        // Evict the least recently used chunks.
        while cached.chunks.len() >= cached.most {
            cached.chunks.pop_front();
        }
        let new = Arc::new(Decoded { begin, bytes: OnceLock::new() });
        cached.chunks.push_back(Arc::clone(&new));
        new
    }
}
