//! The interface between an opened file and the reader of its format.

use std::io::Write;
use std::path::PathBuf;

use crate::{Blob, Format, Header, Problem, Progress};

/// An entry of a file that is not a tensor, or that is a tensor that cannot be moved.
#[derive(Debug)]
pub struct Unreadable {
    /// The name of the entry.
    pub name: String,
    /// The reason why the entry cannot be read.
    pub problem: Problem,
}

/// A tensor that is [`Unreadable`], but can be copied without decoding to a file of the same format.
#[derive(Clone, Debug)]
pub struct UndecodedTensor {
    /// The name, the shape, the axis names and the chunks. The type has only its name; the width of an element is not
    /// known.
    pub header: Header,
    /// The metadata of the tensor in its format.
    pub document: String,
    /// Whether the tensor can be decoded, if [`TensorHint::copies_texts`](crate::TensorHint::copies_texts) is false.
    pub holds_texts: bool,
}

impl UndecodedTensor {
    /// Returns whether the metadata of both is the same JSON, with fields in any order.
    pub fn is_described_as(&self, other: &UndecodedTensor) -> bool {
        let parsed = |own: &UndecodedTensor| trundle_json::parse(own.document.as_bytes()).ok();
        self.document == other.document
            || parsed(self).is_some_and(|own| parsed(other) == Some(own))
    }
}

impl Unreadable {
    /// Returns the error for a file without readable entries, which names this entry.
    pub(crate) fn into_problem(self) -> Problem {
        Problem::member(self.name, self.problem)
    }
}

#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) headers: Vec<Header>,
    /// The metadata of the file, in its order.
    pub(crate) metadata: Vec<(String, String)>,
    /// Descriptions of metadata that the reader could not represent.
    pub(crate) unread: Vec<String>,
    /// The entries that are not readable tensors.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// The contents of an open file.
pub(crate) trait Contents: Send {
    fn listing(&self) -> &Listing;

    /// Returns the format of the file, if it differs from the format of the reader that was called.
    fn format(&self) -> Option<&'static Format> {
        None
    }

    /// Returns the unreadable tensors that can be copied without decoding.
    fn undecoded(&self) -> &[UndecodedTensor] {
        &[]
    }

    /// Reads a stream to its end and checks that it is complete.
    fn read_on(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    /// Returns the bytes to which [`Header::data_offset`] refers; `None` if they do not allow random access.
    fn blob(&self) -> Option<&dyn Blob>;

    /// Returns the paths of the files with the data, if the reader knows them.
    fn data_files(&self) -> &[PathBuf] {
        &[]
    }

    /// Returns whether the file contains CRC-32 values of the data.
    fn has_crc32(&self) -> bool {
        false
    }

    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        let bytes = self.listing().headers[index].data_bytes;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
        self.copy_to(index, &mut data, progress)?;
        Ok(data)
    }

    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem>;
}
