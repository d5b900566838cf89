//! The interface between an opened file and the reader of its format.

use std::io::Write;

use crate::{Blob, Header, Problem, Progress};

/// An entry of a file that is not a tensor, or that is a tensor that cannot be moved.
#[derive(Debug)]
pub struct Unreadable {
    /// The name of the entry.
    pub name: String,
    /// The reason why the entry cannot be read.
    pub problem: Problem,
}

impl Unreadable {
    /// Returns the error for a file without readable entries. The error names this entry.
    pub(crate) fn into_problem(self) -> Problem {
        Problem::member(self.name, self.problem)
    }
}

/// The tensors, the metadata and the other entries that a file lists.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) headers: Vec<Header>,
    /// The metadata of the file as pairs of strings, in the order of the file.
    pub(crate) metadata: Vec<(String, String)>,
    /// Descriptions of file metadata that the reader could not represent.
    pub(crate) unread: Vec<String>,
    /// The entries that are not tensors, or that are tensors that cannot be read.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// The contents of an open file.
pub(crate) trait Contents: Send {
    /// Returns the tensors and the other entries that the file lists.
    fn listing(&self) -> &Listing;

    /// Reads a stream to its end and checks that it is complete.
    fn read_on(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    /// Returns the blob to which [`Header::data_offset`] refers; `None` if the file cannot be read at any position.
    fn blob(&self) -> Option<&dyn Blob>;

    /// Returns whether the file contains CRC-32 values of the data.
    fn has_crc32(&self) -> bool {
        false
    }

    /// Reads the data of the tensor at `index`.
    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        let bytes = self.listing().headers[index].data_bytes;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
        self.copy_to(index, &mut data, progress)?;
        Ok(data)
    }

    /// Copies the data of the tensor at `index` to `out`, in parts.
    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem>;
}
