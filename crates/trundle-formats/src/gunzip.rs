//! Decompresses gzip data.

use std::io::{self, Read};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::Blob;
use crate::blob::Sequential;

/// The first bytes of gzip data (RFC 1952, 2.3.1).
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// The highest compression ratio of Deflate: a match of 258 bytes takes two bits.
pub(crate) const MOST_INFLATED: u64 = 1032;

/// Decompresses gzip data, also if it has several members.
pub(crate) struct Gunzip<R>(MultiGzDecoder<R>);

impl<R: Read> Gunzip<R> {
    pub(crate) fn new(packed: R) -> Gunzip<R> {
        Gunzip(MultiGzDecoder::new(packed))
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            // An error of the decoder, not of the system.
            None => {
                let damaged = format!("the gzip data is damaged: {error}");
                io::Error::new(io::ErrorKind::InvalidData, damaged)
            }
        })
    }
}

/// The end of a file or of memory, which is gzip data.
pub(crate) struct Packed {
    pub(crate) blob: Arc<dyn Blob>,
    /// The offset at which the gzip data begins.
    start: u64,
    pub(crate) reader: Gunzip<Sequential<Arc<dyn Blob>>>,
}

impl Packed {
    pub(crate) fn new(blob: Arc<dyn Blob>, start: u64) -> Packed {
        let reader = Gunzip::new(Sequential::at(Arc::clone(&blob), start));
        Packed { blob, start, reader }
    }

    /// Returns the size of the gzip data.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        Ok(self.blob.bytes()?.saturating_sub(self.start))
    }

    pub(crate) fn restart(&mut self) {
        *self = Packed::new(Arc::clone(&self.blob), self.start);
    }
}
