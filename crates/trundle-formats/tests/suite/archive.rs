//! Zip archives made by hand, with an optional error in each field.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use trundle_formats::crc32;

pub(crate) const STORED: u16 = 0;
pub(crate) const DEFLATED: u16 = 8;

pub(crate) type Change = fn(&mut Member);

/// A member with the same values in both headers, unless a field says otherwise.
#[derive(Clone)]
pub(crate) struct Member {
    pub name: Vec<u8>,
    pub flags: u16,
    pub method: u16,
    pub crc32: u32,
    pub packed: Vec<u8>,
    /// The compressed size in the headers.
    pub packed_bytes: u32,
    /// The uncompressed size in the headers.
    pub bytes: u32,
    /// The extra field in the directory, which can hold Zip64 sizes.
    pub extra: Vec<u8>,
    /// A change to the local header only.
    pub change_local: Change,
    /// The offset that the directory states, if it is not the real one.
    pub offset: Option<u32>,
}

pub(crate) fn stored(name: &str, content: &[u8]) -> Member {
    let bytes = content.len() as u32;
    Member {
        name: name.as_bytes().to_vec(),
        flags: 0,
        method: STORED,
        crc32: crc32(content),
        packed: content.to_vec(),
        packed_bytes: bytes,
        bytes,
        extra: Vec::new(),
        change_local: |_| (),
        offset: None,
    }
}

pub(crate) fn deflated(name: &str, content: &[u8]) -> Member {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    let packed = encoder.finish().unwrap();
    let packed_bytes = packed.len() as u32;
    Member { method: DEFLATED, packed, packed_bytes, ..stored(name, content) }
}

impl Member {
    fn common(&self) -> Vec<u8> {
        let mut record = Vec::new();
        for number in [20, self.flags, self.method, 0, 33] {
            record.extend(number.to_le_bytes());
        }
        for number in [self.crc32, self.packed_bytes, self.bytes] {
            record.extend(number.to_le_bytes());
        }
        record.extend((self.name.len() as u16).to_le_bytes());
        record.extend((self.extra.len() as u16).to_le_bytes());
        record
    }
}

/// Creates an archive whose directory states `count` members.
pub(crate) fn archive_with_count(members: &[Member], count: u16) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let offset = member.offset.unwrap_or(archive.len() as u32);
        let mut local = Member { extra: Vec::new(), ..member.clone() };
        (member.change_local)(&mut local);
        archive.extend(0x0403_4b50u32.to_le_bytes());
        archive.extend(local.common());
        archive.extend(&local.name);
        archive.extend(&local.extra);
        archive.extend(&member.packed);
        directory.extend(0x0201_4b50u32.to_le_bytes());
        directory.extend(20u16.to_le_bytes());
        directory.extend(member.common());
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(&member.name);
        directory.extend(&member.extra);
    }
    let (start, bytes) = (archive.len() as u32, directory.len() as u32);
    archive.extend(directory);
    archive.extend(0x0605_4b50u32.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend([count, count].map(u16::to_le_bytes).concat());
    archive.extend([bytes, start].map(u32::to_le_bytes).concat());
    archive.extend([0; 2]);
    archive
}

pub(crate) fn archive(members: &[Member]) -> Vec<u8> {
    archive_with_count(members, members.len() as u16)
}
