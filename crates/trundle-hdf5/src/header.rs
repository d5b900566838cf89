//! Reads object headers: the messages of a group or a dataset.

use hdf5_reader::checksum::jenkins_lookup3;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::shared::{self, SharedMessage};

use crate::error::Error;
use crate::metadata::Metadata;

/// The types of messages (section IV.A.2 of the specification).
pub(crate) mod kind {
    pub(crate) const DATASPACE: u16 = 0x01;
    pub(crate) const LINK_INFO: u16 = 0x02;
    pub(crate) const DATATYPE: u16 = 0x03;
    pub(crate) const FILL_VALUE_OLD: u16 = 0x04;
    pub(crate) const FILL_VALUE: u16 = 0x05;
    pub(crate) const LINK: u16 = 0x06;
    pub(crate) const EXTERNAL_FILES: u16 = 0x07;
    pub(crate) const LAYOUT: u16 = 0x08;
    pub(crate) const FILTERS: u16 = 0x0b;
    pub(crate) const ATTRIBUTE: u16 = 0x0c;
    pub(crate) const CONTINUATION: u16 = 0x10;
    pub(crate) const SYMBOL_TABLE: u16 = 0x11;
    pub(crate) const ATTRIBUTE_INFO: u16 = 0x15;
}

/// The most bytes of messages in an object header.
const MOST_BYTES: u64 = 64 << 20;
const MOST_BLOCKS: usize = 1 << 12;

const CHECKSUM: usize = 4;

/// The message flag for a body that is a reference to a shared message.
const IS_SHARED: u8 = 0x02;
/// The message flag for a message whose type a reader must know.
const MUST_BE_KNOWN: u8 = 0x80;

const LAST_KIND: u16 = 0x18;

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    is_shared: bool,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct ObjectHeader {
    pub(crate) messages: Vec<Message>,
}

#[derive(Clone, Copy)]
struct Style {
    version: u8,
    has_creation_order: bool,
}

impl ObjectHeader {
    pub(crate) fn read(metadata: &Metadata, address: u64) -> Result<ObjectHeader, Error> {
        let (style, first) = first_block(metadata, address)?;
        let mut header = ObjectHeader { messages: Vec::new() };
        let mut blocks = header.add(metadata, style, &first)?;
        let (mut read, mut next, mut all) = (first.len() as u64, 0, 1);
        while next < blocks.len() {
            let (address, bytes) = blocks[next];
            (next, all, read) = (next + 1, all + 1, read.saturating_add(bytes));
            if read > MOST_BYTES || all > MOST_BLOCKS {
                return Err(Error::malformed(format!("the header at byte {address} has no end")));
            }
            let block = continuation(metadata, style, address, bytes as usize)?;
            blocks.extend(header.add(metadata, style, &block)?);
        }
        Ok(header)
    }

    /// Adds the messages of a block. Returns address and length of the blocks that continue it.
    fn add(
        &mut self,
        metadata: &Metadata,
        style: Style,
        block: &[u8],
    ) -> Result<Vec<(u64, u64)>, Error> {
        let mut cursor = Cursor::new(block);
        let mut blocks = Vec::new();
        let prefix =
            if style.version == 1 { 8 } else { 4 + 2 * u64::from(style.has_creation_order) };
        while cursor.remaining() >= prefix {
            let (kind, bytes, flags);
            if style.version == 1 {
                (kind, bytes) = (cursor.read_u16_le()?, cursor.read_u16_le()?);
                flags = cursor.read_u8()?;
                cursor.skip(3)?;
            } else {
                (kind, bytes) = (u16::from(cursor.read_u8()?), cursor.read_u16_le()?);
                flags = cursor.read_u8()?;
                cursor.skip(2 * usize::from(style.has_creation_order))?;
            }
            let body = cursor.read_bytes(usize::from(bytes))?;
            if kind > LAST_KIND && flags & MUST_BE_KNOWN != 0 {
                return Err(Error::unsupported(format!("a message of kind {kind} is unknown")));
            }
            if kind == kind::CONTINUATION {
                let mut cursor = Cursor::new(body);
                let address = cursor.read_offset(metadata.offset_size)?;
                blocks.push((address, cursor.read_length(metadata.length_size)?));
            } else {
                let is_shared = flags & IS_SHARED != 0;
                self.messages.push(Message { kind, is_shared, body: body.to_vec() });
            }
        }
        Ok(blocks)
    }

    /// Returns the body of the first message of a type, resolved if it is shared.
    pub(crate) fn find(&self, metadata: &Metadata, kind: u16) -> Result<Option<Vec<u8>>, Error> {
        let found = self.messages.iter().find(|message| message.kind == kind);
        found.map(|message| message.resolved(metadata)).transpose()
    }
}

impl Message {
    pub(crate) fn resolved(&self, metadata: &Metadata) -> Result<Vec<u8>, Error> {
        if !self.is_shared {
            return Ok(self.body.clone());
        }
        shared_message(metadata, self.kind, &self.body)
    }
}

pub(crate) fn shared_message(
    metadata: &Metadata,
    kind: u16,
    body: &[u8],
) -> Result<Vec<u8>, Error> {
    let (offset_size, length_size) = (metadata.offset_size, metadata.length_size);
    let found = shared::parse(&mut Cursor::new(body), kind, offset_size, length_size, body.len())?;
    let SharedMessage::SharedInOhdr { address, .. } = found else {
        return Err(Error::unsupported("metadata in a heap of shared messages is not read"));
    };
    let header = ObjectHeader::read(metadata, address)?;
    let found = header.messages.into_iter().find(|message| message.kind == kind);
    match found {
        Some(Message { is_shared: false, body, .. }) => Ok(body),
        _ => Err(Error::malformed(format!("no shared message of kind {kind} at byte {address}"))),
    }
}

/// Reads the start of the header at an address: its style and its first block.
fn first_block(metadata: &Metadata, address: u64) -> Result<(Style, Vec<u8>), Error> {
    let start = metadata.read(address, 6)?;
    if start[0] == 1 {
        let prefix = metadata.read(address, 16)?;
        let bytes = u32::from_le_bytes([prefix[8], prefix[9], prefix[10], prefix[11]]);
        check_bytes(u64::from(bytes))?;
        let style = Style { version: 1, has_creation_order: false };
        return Ok((style, metadata.read(address.saturating_add(16), bytes as usize)?));
    }
    if !start.starts_with(b"OHDR") || start[4] != 2 {
        return Err(Error::malformed(format!("no object at byte {address}")));
    }
    let flags = start[5];
    let before = 6 + if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 };
    let size_bytes = 1 << (flags & 3);
    let prefix = metadata.read(address, before + size_bytes)?;
    let mut cursor = Cursor::new(&prefix[before..]);
    let bytes = cursor.read_uvar(size_bytes)?;
    check_bytes(bytes)?;
    let mut whole = metadata.read(address, prefix.len() + bytes as usize + CHECKSUM)?;
    check_sum(&whole, address)?;
    whole.truncate(whole.len() - CHECKSUM);
    Ok((Style { version: 2, has_creation_order: flags & 0x04 != 0 }, whole.split_off(prefix.len())))
}

fn continuation(
    metadata: &Metadata,
    style: Style,
    address: u64,
    bytes: usize,
) -> Result<Vec<u8>, Error> {
    check_bytes(bytes as u64)?;
    let mut block = metadata.read(address, bytes)?;
    if style.version == 1 {
        return Ok(block);
    }
    if !block.starts_with(b"OCHK") || block.len() < 4 + CHECKSUM {
        return Err(Error::malformed(format!("no continued header at byte {address}")));
    }
    check_sum(&block, address)?;
    block.truncate(block.len() - CHECKSUM);
    Ok(block.split_off(4))
}

fn check_bytes(bytes: u64) -> Result<(), Error> {
    if bytes > MOST_BYTES {
        let why = format!("an object header of {bytes} bytes, the limit is {MOST_BYTES}");
        return Err(Error::unsupported(why));
    }
    Ok(())
}

fn check_sum(block: &[u8], address: u64) -> Result<(), Error> {
    let (data, sum) = block.split_at(block.len() - CHECKSUM);
    if jenkins_lookup3(data).to_le_bytes() != sum {
        return Err(Error::malformed(format!(
            "the checksum of the header at byte {address} differs"
        )));
    }
    Ok(())
}
