//! Reads metadata from the bytes of a file.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use hdf5_reader::error::Error as ReaderError;
use hdf5_reader::io::Cursor;
use hdf5_reader::storage::{Storage, StorageBuffer};
use hdf5_reader::superblock::Superblock;

use crate::error::Error;
use crate::plugins::Codecs;

/// Bytes that several threads can read at any position.
pub trait ReadAt: Debug + Send + Sync {
    /// Returns the number of bytes.
    fn bytes(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// If the bytes cannot be read, or the end comes first.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

/// The largest single read of metadata, in bytes. Chunk indices are read in much smaller parts.
const MOST_PIECE_BYTES: usize = 256 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub(crate) bytes: Arc<dyn ReadAt>,
    /// The file offset of address 0: the length of a user block.
    pub(crate) base: u64,
    pub(crate) offset_size: u8,
    pub(crate) length_size: u8,
    pub(crate) codecs: Option<Codecs>,
}

impl Metadata {
    /// Reads the superblock. Returns the metadata, and the address of the root group.
    pub(crate) fn new(
        bytes: Arc<dyn ReadAt>,
        codecs: Option<Codecs>,
    ) -> Result<(Metadata, u64), Error> {
        let whole = Metadata { bytes, base: 0, offset_size: 8, length_size: 8, codecs };
        let superblock = Superblock::parse_from_storage(&whole)?;
        let root = superblock.root_object_header_address()?;
        let Superblock { base_address: base, offset_size, length_size, .. } = superblock;
        if ![offset_size, length_size].iter().all(|size| [2, 4, 8].contains(size)) {
            return Err(Error::malformed(format!(
                "addresses of {offset_size} bytes and lengths of {length_size}"
            )));
        }
        Ok((Metadata { base, offset_size, length_size, ..whole }, root))
    }

    /// Returns the file offset of an address; `None` unless all of the `bytes` bytes there are in the file.
    pub(crate) fn file_offset(&self, address: u64, bytes: u64) -> Option<u64> {
        let file_offset = address.checked_add(self.base)?;
        (file_offset.checked_add(bytes)? <= self.bytes.bytes()).then_some(file_offset)
    }

    pub(crate) fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, Error> {
        let file_offset = self.file_offset(address, bytes as u64).ok_or_else(|| {
            Error::malformed(format!(
                "{bytes} bytes at byte {address} are beyond the end of the file"
            ))
        })?;
        let mut read = Vec::new();
        let reserved = read.try_reserve_exact(bytes);
        reserved.map_err(|_| Error::Io(io::ErrorKind::OutOfMemory.into()))?;
        read.resize(bytes, 0);
        self.bytes.read_exact_at(&mut read, file_offset)?;
        Ok(read)
    }

    /// Reads the next address; `None` if it is undefined.
    pub(crate) fn address(&self, cursor: &mut Cursor<'_>) -> Result<Option<u64>, Error> {
        let address = cursor.read_offset(self.offset_size)?;
        let is_one = !Cursor::is_undefined_offset(address, self.offset_size);
        Ok(is_one.then_some(address))
    }
}

impl Storage for Metadata {
    fn len(&self) -> u64 {
        self.bytes.bytes().saturating_sub(self.base)
    }

    fn read_range(&self, offset: u64, len: usize) -> hdf5_reader::error::Result<StorageBuffer> {
        if len > MOST_PIECE_BYTES {
            let why = format!("metadata of {len} bytes, the limit is {MOST_PIECE_BYTES}");
            return Err(ReaderError::InvalidData(why));
        }
        let read = self.read(offset, len).map_err(|error| match error {
            Error::Io(error) => ReaderError::Io(error),
            other => ReaderError::InvalidData(other.to_string()),
        })?;
        Ok(StorageBuffer::from_vec(read))
    }
}
