//! The interface between an opened file and the reader of its format.

use std::io::Write;

use crate::{Blob, Header, Problem, Progress};

/// An entry of a file that is not a tensor, or is a tensor that cannot be moved.
#[derive(Debug)]
pub struct Unreadable {
    /// The name of the entry.
    pub name: String,
    /// Why the entry cannot be read.
    pub problem: Problem,
}

/// What a file of some format lists before its data.
#[derive(Default)]
pub(crate) struct Listing {
    /// Each tensor, without its data.
    pub(crate) headers: Vec<Header>,
    /// Pairs that are kept beside the tensors, in order.
    pub(crate) metadata: Vec<(String, String)>,
    /// Parts of the file as a whole that cannot be held, as messages call them.
    pub(crate) unread: Vec<String>,
    /// Other entries, of which nothing but the name can be told.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// What a file of some format holds.
pub(crate) trait Contents: Send {
    /// The tensors, and what else the file lists.
    fn listing(&self) -> &Listing;

    /// Reads a stream on to its end, and checks that it is whole.
    fn read_on(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    /// The bytes in which [`Header::data_offset`] counts, if they can be read at any place.
    fn blob(&self) -> Option<&dyn Blob>;

    /// Whether the file has CRC-32 of the data.
    fn has_crc32(&self) -> bool {
        false
    }

    /// The data of the tensor at `index`, exactly as long as its header says.
    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        let bytes = self.listing().headers[index].data_bytes;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
        self.copy_to(index, &mut data, progress)?;
        Ok(data)
    }

    /// The same data, in parts.
    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem>;
}
