//! Reads files whose data is not compressed, or compressed as a whole.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use crate::contents::{Contents, Listing};
use crate::error::in_bytes;
use crate::source::{Source, copy};
use crate::{Blob, Header, Problem, Progress};

/// The contents of such a file: the data of the tensors in order, perhaps followed by other bytes.
pub(crate) struct Uncompressed {
    listing: Listing,
    source: Source,
    /// The offset of the first tensor's data.
    start: u64,
    /// The bytes from there to the end of the last tensor's data.
    bytes: u64,
    trailing: TrailingBytes,
}

#[derive(Clone, Copy)]
pub(crate) enum TrailingBytes {
    /// Any bytes, which are ignored.
    Ignored,
    /// None. The function creates the error from the expected and the actual number of bytes.
    Refused(fn(u64, u64) -> Problem),
}

impl Uncompressed {
    /// Creates the contents of a file with one tensor, whose data begins at `start`. Checks the length of the source if
    /// it is known.
    ///
    /// # Errors
    /// [`Problem::Truncated`], [`Problem::OffsetBeyond`] or the error of `trailing`.
    pub(crate) fn one(
        mut header: Header,
        metadata: Vec<(String, String)>,
        start: u64,
        source: Source,
        trailing: TrailingBytes,
    ) -> Result<Box<Uncompressed>, Problem> {
        header.annotations.is_whole = true;
        if source.is_gzip() {
            header.data_offset = None;
        }
        let listing = Listing { headers: vec![header], metadata, ..Listing::default() };
        Uncompressed::new(listing, start, source, trailing)
    }

    /// Creates the contents of a file with several tensors, in the order of their data.
    pub(crate) fn new(
        listing: Listing,
        start: u64,
        source: Source,
        trailing: TrailingBytes,
    ) -> Result<Box<Uncompressed>, Problem> {
        let end = |header: &Header| {
            header.data_offset.unwrap_or(start).saturating_add(header.data_bytes as u64)
        };
        let bytes = listing.headers.iter().map(end).max().unwrap_or(start).saturating_sub(start);
        if let Some(length) = source.length() {
            let beyond = Problem::OffsetBeyond { offset: start, length };
            let got = length.checked_sub(start).ok_or(beyond)?;
            check_length(bytes, got)?;
            if let TrailingBytes::Refused(problem) = trailing
                && got > bytes
            {
                return Err(problem(bytes, got));
            }
        }
        let expected = start.saturating_add(bytes);
        if let Some(most) = source.most_bytes().filter(|most| *most < expected) {
            return Err(Problem::Malformed(format!(
                "truncated: the tensor ends at byte {expected}, but the gzip data decompresses to at most {}",
                in_bytes(most)
            )));
        }
        Ok(Box::new(Uncompressed { listing, source, start, bytes, trailing }))
    }

    /// Returns the listing, and the file or memory; `None` for a stream and for gzip data.
    pub(crate) fn into_parts(self) -> (Listing, Option<Arc<dyn Blob>>) {
        (self.listing, self.source.into_blob())
    }

    fn read(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        self.seek_to(index)?;
        let data = self.source.read_data(self.listing.headers[index].data_bytes, progress)?;
        self.check_end(index, data.len() as u64)?;
        Ok(data)
    }

    fn write(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        self.seek_to(index)?;
        let bytes = self.listing.headers[index].data_bytes as u64;
        let copied = copy(&mut self.source, bytes, out, progress)?;
        self.check_end(index, copied)
    }

    fn seek_to(&mut self, index: usize) -> Result<(), Problem> {
        self.source.seek_to(self.listing.headers[index].data_offset.unwrap_or(self.start))
    }

    /// Checks the length of a stream after the data of the tensor at `index`. Reads gzip data to its end, because the
    /// CRC-32 follows all of the data.
    fn check_end(&mut self, index: usize, read: u64) -> Result<(), Problem> {
        check_length(self.listing.headers[index].data_bytes as u64, read)?;
        let is_last = index + 1 == self.listing.headers.len();
        match self.trailing {
            TrailingBytes::Refused(problem) if is_last && !self.source.ends()? => {
                Err(problem(self.bytes, self.bytes + 1))
            }
            TrailingBytes::Ignored if self.source.is_gzip() => self.source.read_on(),
            _ => Ok(()),
        }
    }
}

fn check_length(expected: u64, got: u64) -> Result<(), Problem> {
    if got < expected {
        return Err(Problem::Truncated { part: "the data", expected, got });
    }
    Ok(())
}

impl Contents for Uncompressed {
    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn read_on(&mut self) -> Result<(), Problem> {
        if self.source.blob().is_some() {
            return Ok(());
        }
        self.source.read_on()?;
        let got = self.source.position().saturating_sub(self.start);
        check_length(self.bytes, got)?;
        match self.trailing {
            TrailingBytes::Refused(problem) if got > self.bytes => Err(problem(self.bytes, got)),
            _ => Ok(()),
        }
    }

    fn blob(&self) -> Option<&dyn Blob> {
        self.source.blob()
    }

    fn data_files(&self) -> &[PathBuf] {
        self.source.files()
    }

    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        self.read(index, progress).map_err(|problem| self.source.named(problem))
    }

    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        self.write(index, out, progress).map_err(|problem| self.source.named(problem))
    }
}
