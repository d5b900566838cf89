//! Reads a header from front to back.

use std::io::{self, BufReader, Read};

use crate::Problem;
use crate::error::in_bytes;
use crate::source::{Source, read_exactly};

pub(crate) struct HeaderReader<'a> {
    input: Box<dyn Read + 'a>,
    /// The offset from the start of the source, in bytes.
    position: u64,
    most: u64,
}

impl<'a> HeaderReader<'a> {
    /// Creates a reader of at most `most` bytes. A seekable source may be read further ahead, but a stream is not.
    pub(crate) fn new(source: &'a mut Source, most: u64) -> HeaderReader<'a> {
        let input: Box<dyn Read + 'a> = match source.length() {
            Some(_) => Box::new(BufReader::new(source)),
            None => Box::new(source),
        };
        HeaderReader { input, position: 0, most }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Reads the next `bytes` bytes, which errors name `part`. Reserves no more memory than the source has bytes.
    ///
    /// # Errors
    /// [`Problem::Truncated`] if the source ends, or [`Problem::Unsupported`] beyond the limit.
    pub(crate) fn bytes(&mut self, part: &'static str, bytes: u64) -> Result<Vec<u8>, Problem> {
        let bytes = self.advance(bytes)?;
        read_exactly(&mut self.input, part, bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], Problem> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(part, N as u64)?);
        Ok(array)
    }

    /// Skips the next `bytes` bytes.
    ///
    /// # Errors
    /// The errors of [`HeaderReader::bytes`].
    pub(crate) fn skip(&mut self, part: &'static str, bytes: u64) -> Result<(), Problem> {
        self.advance(bytes)?;
        let got = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())
            .map_err(Problem::reading)?;
        match got < bytes {
            true => Err(Problem::Truncated { part, expected: bytes, got }),
            false => Ok(()),
        }
    }

    /// Reads the next line, without the line feed at its end and a carriage return before it.
    ///
    /// # Errors
    /// The errors of [`HeaderReader::bytes`], also if the source ends before the line does.
    pub(crate) fn line(&mut self, part: &'static str) -> Result<Vec<u8>, Problem> {
        self.read_line(|reader| reader.bytes(part, 1))
    }

    /// Reads the next line like [`HeaderReader::line`], which may also end with the source. At the end of the source,
    /// the line is empty.
    ///
    /// # Errors
    /// [`Problem::Unsupported`] beyond the limit.
    pub(crate) fn line_or_end(&mut self) -> Result<Vec<u8>, Problem> {
        self.read_line(|reader| {
            let mut byte = Vec::new();
            let most = reader.advance(1)? as u64;
            (&mut reader.input).take(most).read_to_end(&mut byte).map_err(Problem::reading)?;
            Ok(byte)
        })
    }

    /// Reads a line by a function that returns the next byte, or none at the end.
    fn read_line(
        &mut self,
        next: impl Fn(&mut Self) -> Result<Vec<u8>, Problem>,
    ) -> Result<Vec<u8>, Problem> {
        let mut line = Vec::new();
        loop {
            match next(self)?[..] {
                [] | [b'\n', ..] => break,
                [byte, ..] => line.push(byte),
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(line)
    }

    /// Advances the position, if it stays within the limit.
    fn advance(&mut self, bytes: u64) -> Result<usize, Problem> {
        let end = self.position.checked_add(bytes).filter(|end| *end <= self.most);
        let over = || {
            let more = format!("goes on for {} at byte {}", in_bytes(bytes), self.position);
            Problem::Unsupported(format!("the header {more}, over {}", in_bytes(self.most)))
        };
        self.position = end.ok_or_else(over)?;
        usize::try_from(bytes).map_err(|_| Problem::NoMemory { bytes: usize::MAX })
    }
}
