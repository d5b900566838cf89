//! Files whose data stands in them as it is.

use std::io::Write;

use crate::contents::{Contents, Listing};
use crate::source::{Source, copy};
use crate::{Blob, Header, Problem, Progress, Unreadable};

/// What such a file holds: tensors whose data lies one behind the other, to the end or to a rest.
pub(crate) struct Uncompressed {
    listing: Listing,
    source: Source,
    /// Where all the data begins, in bytes from the start of the file, and how many it has, with what
    /// lies between that of two tensors.
    start: u64,
    bytes: u64,
    rest: Rest,
}

/// What may follow the data.
#[derive(Clone, Copy)]
pub(crate) enum Rest {
    /// Anything, which is ignored.
    Ignored,
    /// Nothing. What is wrong otherwise, from the bytes of the data and those that were found.
    Refused(fn(u64, u64) -> Problem),
}

impl Uncompressed {
    /// The tensor of `header` in `source`, which is all that the file holds, and whose data begins at `start`. Where
    /// the length of the source is known, the data is all there and followed by no more than `rest` allows.
    ///
    /// # Errors
    /// [`Problem::Truncated`], [`Problem::OffsetBeyond`] or what `rest` refuses with.
    pub(crate) fn one(
        mut header: Header,
        metadata: Vec<(String, String)>,
        start: u64,
        source: Source,
        rest: Rest,
    ) -> Result<Box<Uncompressed>, Problem> {
        header.annotations.is_whole = true;
        Uncompressed::new(vec![header], metadata, start, source, rest)
    }

    /// The same of several tensors in the order of their data.
    pub(crate) fn new(
        headers: Vec<Header>,
        metadata: Vec<(String, String)>,
        start: u64,
        source: Source,
        rest: Rest,
    ) -> Result<Box<Uncompressed>, Problem> {
        let end = |header: &Header| {
            header.data_offset.unwrap_or(start).saturating_add(header.data_bytes as u64)
        };
        let bytes = headers.iter().map(end).max().unwrap_or(start).saturating_sub(start);
        if let Some(length) = source.length() {
            let beyond = Problem::OffsetBeyond { offset: start, length };
            let got = length.checked_sub(start).ok_or(beyond)?;
            check_length(bytes, got)?;
            if let Rest::Refused(problem) = rest
                && got > bytes
            {
                return Err(problem(bytes, got));
            }
        }
        let listing = Listing { headers, metadata, ..Listing::default() };
        Ok(Box::new(Uncompressed { listing, source, start, bytes, rest }))
    }

    /// Sets what the reader leaves out of the file, as messages call it.
    pub(crate) fn set_unread(&mut self, unread: Vec<String>) {
        self.listing.unread = unread;
    }

    /// Says what else there is, which cannot be read.
    pub(crate) fn set_unreadable(&mut self, unreadable: Vec<Unreadable>) {
        self.listing.unreadable = unreadable;
    }

    /// Goes to the data of the tensor at `index`.
    fn seek_to(&mut self, index: usize) -> Result<(), Problem> {
        self.source.seek_to(self.listing.headers[index].data_offset.unwrap_or(self.start))
    }

    /// Checks what only the end of a source tells, behind the data of the tensor at `index`.
    fn check_end(&mut self, index: usize, read: u64) -> Result<(), Problem> {
        check_length(self.listing.headers[index].data_bytes as u64, read)?;
        let is_last = index + 1 == self.listing.headers.len();
        match self.rest {
            Rest::Refused(problem) if is_last && !self.source.ends()? => {
                Err(problem(self.bytes, self.bytes + 1))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that `got` bytes hold the data.
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
        if self.source.length().is_some() {
            return Ok(());
        }
        self.source.read_on()?;
        let got = self.source.position().saturating_sub(self.start);
        check_length(self.bytes, got)?;
        match self.rest {
            Rest::Refused(problem) if got > self.bytes => Err(problem(self.bytes, got)),
            _ => Ok(()),
        }
    }

    fn blob(&self) -> Option<&dyn Blob> {
        self.source.blob()
    }

    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        self.seek_to(index)?;
        let data = self.source.read_data(self.listing.headers[index].data_bytes, progress)?;
        self.check_end(index, data.len() as u64)?;
        Ok(data)
    }

    fn copy_to(
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
}
