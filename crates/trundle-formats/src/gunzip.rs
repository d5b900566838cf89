//! Decompresses gzip data.

use std::io::{self, BufReader, Chain, Read};
use std::sync::Arc;

use flate2::bufread::GzDecoder;

use crate::Blob;
use crate::blob::Sequential;

/// The first bytes of gzip data (RFC 1952, 2.3.1).
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// The highest compression ratio of Deflate: a match of 258 bytes takes two bits.
pub(crate) const MOST_INFLATED: u64 = 1032;

/// Decompresses all members of gzip data, and checks their CRC-32 values. Other bytes after a member are ignored, as by
/// gunzip.
pub(crate) struct Gunzip<R>(Option<Member<R>>);

/// The decoder of a member. Its input has the magic of the member before the other bytes.
type Member<R> = GzDecoder<Chain<&'static [u8], BufReader<R>>>;

impl<R: Read> Gunzip<R> {
    pub(crate) fn new(compressed: R) -> Gunzip<R> {
        Gunzip(Some(GzDecoder::new((&[][..]).chain(BufReader::new(compressed)))))
    }

    /// Begins with the next member, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(member) = self.0.take() else { return Ok(()) };
        let (_, mut rest) = member.into_inner().into_inner();
        let mut first = Vec::new();
        rest.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut first)?;
        self.0 = (first == GZIP_MAGIC).then(|| GzDecoder::new(GZIP_MAGIC.chain(rest)));
        Ok(())
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            match member.read(buffer) {
                Ok(0) if !buffer.is_empty() => self.next_member()?,
                // An error of the decoder, not of the system.
                Err(error) if error.raw_os_error().is_none() => {
                    let damaged = format!("the gzip data is damaged: {error}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, damaged));
                }
                read => return read,
            }
        }
        Ok(0)
    }
}

/// The rest of a file, memory or a stream, which is gzip data.
pub(crate) struct GzipData {
    /// The file or the memory; `None` for a stream.
    pub(crate) blob: Option<Arc<dyn Blob>>,
    /// The offset at which the gzip data begins.
    start: u64,
    pub(crate) reader: Gunzip<Box<dyn Read + Send>>,
}

impl GzipData {
    pub(crate) fn new(blob: Arc<dyn Blob>, start: u64) -> GzipData {
        let reader = Box::new(Sequential::at(Arc::clone(&blob), start));
        GzipData { blob: Some(blob), start, reader: Gunzip::new(reader) }
    }

    pub(crate) fn stream(rest: Box<dyn Read + Send>) -> GzipData {
        GzipData { blob: None, start: 0, reader: Gunzip::new(rest) }
    }

    /// Returns the size of the gzip data, if it is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let bytes = self.blob.as_ref()?.bytes().ok()?;
        Some(bytes.saturating_sub(self.start))
    }

    /// Goes back to the first byte, unless this is a stream.
    pub(crate) fn restart(&mut self) {
        if let Some(blob) = self.blob.take() {
            *self = GzipData::new(blob, self.start);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    use super::*;

    /// Yields one byte at a time, and is interrupted before each byte.
    struct Interrupted<'a> {
        rest: &'a [u8],
        is_next: bool,
    }

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_next = !self.is_next;
            match self.is_next {
                true => Err(rustix::io::Errno::INTR.into()),
                false => self.rest.read(&mut buffer[..1]),
            }
        }
    }

    #[test]
    fn an_interrupted_stream_is_read_to_its_end() {
        let member = |bytes: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let packed = [member(b"one"), member(b"two"), vec![0x1f]].concat();
        let mut read = Vec::new();
        let stream = Interrupted { rest: &packed, is_next: false };
        Gunzip::new(stream).read_to_end(&mut read).unwrap();
        assert_eq!(read, b"onetwo");
    }
}
