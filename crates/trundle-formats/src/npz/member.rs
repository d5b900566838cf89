//! Reads one member of a zip archive.

use std::io::{self, Read, Take};

use crc32fast::Hasher;
use flate2::read::DeflateDecoder;

use super::ENDING;
use crate::Problem;
use crate::source::{Source, copy};

#[derive(Debug)]
pub(crate) struct Member {
    pub name: String,
    pub method: Method,
    /// The offset of the member's bytes from the start of the archive.
    pub start: u64,
    /// The bytes in the archive.
    pub packed_bytes: u64,
    /// The bytes after decompression.
    pub bytes: u64,
    pub crc32: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Stored,
    Deflated,
}

impl Member {
    pub(crate) fn tensor_name(&self) -> &str {
        self.name.strip_suffix(ENDING).unwrap_or(&self.name)
    }

    /// Returns the archive offset of the member's byte `at`; `None` if the member is compressed.
    pub(crate) fn offset_of(&self, at: u64) -> Option<u64> {
        (self.method == Method::Stored).then_some(self.start + at)
    }

    pub(crate) fn read<'a>(&'a self, source: &'a mut Source) -> Result<Reader<'a>, Problem> {
        source.seek_to(self.start)?;
        let packed = source.take(self.packed_bytes);
        let input = match self.method {
            Method::Stored => Input::Stored(packed),
            Method::Deflated => Input::Deflated(DeflateDecoder::new(packed)),
        };
        Ok(Reader { member: self, input, hasher: Hasher::new(), left: self.bytes })
    }

    pub(crate) fn problem(&self, problem: Problem) -> Problem {
        let problem = match problem {
            // An error of the decoder, not of the system.
            Problem::Io { doing: "read", source }
                if source.raw_os_error().is_none()
                    && matches!(
                        source.kind(),
                        io::ErrorKind::InvalidInput
                            | io::ErrorKind::InvalidData
                            | io::ErrorKind::UnexpectedEof
                    ) =>
            {
                Problem::Malformed(source.to_string())
            }
            other => other,
        };
        Problem::Member { member: self.name.clone(), problem: Box::new(problem) }
    }
}

/// Reads the bytes of a member, up to the size that the directory states.
pub(crate) struct Reader<'a> {
    member: &'a Member,
    input: Input<'a>,
    hasher: Hasher,
    left: u64,
}

enum Input<'a> {
    Stored(Take<&'a mut Source>),
    Deflated(DeflateDecoder<Take<&'a mut Source>>),
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::Stored(bytes) => bytes.read(buffer),
            Input::Deflated(bytes) => bytes.read(buffer),
        }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.input.read(&mut buffer[..room])?;
        self.hasher.update(&buffer[..read]);
        self.left -= read as u64;
        Ok(read)
    }
}

impl Reader<'_> {
    /// Returns the remaining bytes of an uncompressed member, which all exist in the archive; 0 for a compressed one.
    pub(crate) fn stored(&self) -> u64 {
        match self.input {
            Input::Stored(_) => self.left,
            Input::Deflated(_) => 0,
        }
    }

    /// Reads to the end of the member, and checks its size and CRC-32.
    pub(crate) fn finish(mut self) -> Result<(), Problem> {
        let left = self.left;
        copy(&mut self, left, &mut io::sink(), &mut |_| ())?;
        let expected = self.member.bytes;
        if self.left > 0 {
            let got = expected - self.left;
            return Err(Problem::Truncated { part: "the member", expected, got });
        }
        if self.input.read(&mut [0]).map_err(Problem::reading)? > 0 {
            return Err(Problem::Malformed(format!(
                "has more than the {expected} bytes that the archive's directory states"
            )));
        }
        let (expected, got) = (self.member.crc32, self.hasher.finalize());
        if got != expected {
            return Err(Problem::Malformed(format!(
                "its bytes have the CRC-32 {got:08x}, expected {expected:08x}"
            )));
        }
        Ok(())
    }
}
