//! Files that hold one tensor: its data is all that follows a place.

use crate::format::Contents;
use crate::source::Source;
use crate::{Header, Problem, Progress};

/// What such a file holds.
pub(crate) struct OneTensor {
    header: [Header; 1],
    source: Source,
    rest: Rest,
}

/// What may follow the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Anything, which is ignored.
    Ignored,
    /// Nothing.
    Refused,
}

impl OneTensor {
    /// The tensor of `header` in `source`. Where the length of the source is known, the data is
    /// all there and followed by no more than `rest` allows.
    ///
    /// # Errors
    /// [`Problem::Truncated`], [`Problem::OffsetBeyond`] or [`Problem::DataLeft`].
    pub(crate) fn new(
        header: Header,
        source: Source,
        rest: Rest,
    ) -> Result<Box<OneTensor>, Problem> {
        if let Some(length) = source.length() {
            let offset = header.data_offset;
            let got = length.checked_sub(offset).ok_or(Problem::OffsetBeyond { offset, length })?;
            check_length(&header, got, rest)?;
        }
        Ok(Box::new(OneTensor { header: [header], source, rest }))
    }
}

/// Checks that `got` bytes hold the data.
fn check_length(header: &Header, got: u64, rest: Rest) -> Result<(), Problem> {
    let expected = header.data_bytes as u64;
    if got < expected {
        return Err(Problem::Truncated { part: "the data", expected, got });
    }
    if got > expected && rest == Rest::Refused {
        return Err(Problem::DataLeft { expected, got });
    }
    Ok(())
}

impl Contents for OneTensor {
    fn headers(&self) -> &[Header] {
        &self.header
    }

    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        let header = &self.header[index];
        self.source.seek_to(header.data_offset)?;
        let data = self.source.read_data(header.data_bytes, progress)?;
        check_length(header, data.len() as u64, self.rest)?;
        if self.rest == Rest::Refused && !self.source.ends()? {
            // A stream, whose length only its end tells.
            let got = header.data_bytes as u64 + 1;
            return Err(Problem::DataLeft { expected: header.data_bytes as u64, got });
        }
        Ok(data)
    }
}
