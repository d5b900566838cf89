//! What stands before the data of a file, from front to back.

use std::io::{self, BufReader, Read};

use crate::Problem;
use crate::error::in_bytes;
use crate::source::{Source, read_exactly};

/// Reads what stands before the data from front to back, up to a limit, and knows how far it is.
pub(crate) struct HeaderReader<'a> {
    input: Box<dyn Read + 'a>,
    /// Bytes from the start of the source.
    position: u64,
    most: u64,
}

impl<'a> HeaderReader<'a> {
    /// From the start of `source`, `most` bytes at most. A source that can go to any place is read
    /// ahead, and left anywhere; a stream is left behind what was asked for.
    pub(crate) fn new(source: &'a mut Source, most: u64) -> HeaderReader<'a> {
        let input: Box<dyn Read + 'a> = match source.length() {
            Some(_) => Box::new(BufReader::new(source)),
            None => Box::new(source),
        };
        HeaderReader { input, position: 0, most }
    }

    /// Bytes from the start of the source to what is read next.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next `bytes` bytes, which are `part` of the file. No more are reserved than are there.
    ///
    /// # Errors
    /// [`Problem::Truncated`], or [`Problem::Unsupported`] beyond the limit.
    pub(crate) fn bytes(&mut self, part: &'static str, bytes: u64) -> Result<Vec<u8>, Problem> {
        let bytes = self.advance(bytes)?;
        read_exactly(&mut self.input, part, bytes)
    }

    /// The same, of a number of them that is known.
    pub(crate) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], Problem> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(part, N as u64)?);
        Ok(array)
    }

    /// Leaves out the next `bytes` bytes, which are `part` of the file.
    ///
    /// # Errors
    /// As [`HeaderReader::bytes`].
    pub(crate) fn skip(&mut self, part: &'static str, bytes: u64) -> Result<(), Problem> {
        self.advance(bytes)?;
        let got = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())
            .map_err(Problem::reading)?;
        match got < bytes {
            true => Err(Problem::Truncated { part, expected: bytes, got }),
            false => Ok(()),
        }
    }

    /// The next line, without its end, which is a line feed or that behind a carriage return.
    ///
    /// # Errors
    /// As [`HeaderReader::bytes`], where the source ends before the line does.
    pub(crate) fn line(&mut self, part: &'static str) -> Result<Vec<u8>, Problem> {
        let mut line = Vec::new();
        loop {
            match self.array(part)? {
                [b'\n'] => break,
                [byte] => line.push(byte),
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(line)
    }

    /// Counts the next `bytes` bytes, once they are found to be within the limit.
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
