//! The records of a zip archive that holds stored files (PKWARE's APPNOTE.TXT, version 6.3.10,
//! section 4.3).

/// Where the CRC-32 stands in a local header, in bytes from its start.
pub(super) const LOCAL_CHECKSUM: usize = 14;

/// Where it stands in an entry of the directory.
const ENTRY_CHECKSUM: usize = 16;

/// The data of a member begins at a multiple of this many bytes.
const ALIGNMENT: u64 = 64;

/// What a field says that has its number elsewhere, in a Zip64 record.
const ELSEWHERE_16: u16 = u16::MAX;
const ELSEWHERE_32: u32 = u32::MAX;

/// The kind of an extra field of numbers that need 64 bits.
const ZIP64: u16 = 1;

/// The kind of an extra field that is only there so that the data is aligned: that of Android's
/// `zipalign`. It holds the alignment, then zeros.
const PADDING: u16 = 0xd935;
const LEAST_PADDING: u64 = 6;

/// The version of the format that a reader must know: 2.0, or 4.5 for Zip64.
const VERSION: u16 = 20;
const VERSION_ZIP64: u16 = 45;

/// Made on Unix, where permissions stand in the upper half of the attributes: read and write for
/// the owner, as Python's `zipfile` has it.
const MADE_ON: u16 = 3 << 8;
const ATTRIBUTES: u32 = 0o600 << 16;

/// Names are in UTF-8.
const FLAG_UTF8: u16 = 1 << 11;

/// The first day of 1980, the first that there is: no file depends on when it was written.
const DATE: u16 = 1 << 5 | 1;

/// A file in an archive.
pub(super) struct Member<'a> {
    /// With its ending.
    pub name: &'a str,
    /// Its length.
    pub bytes: u64,
    /// Where its local header stands, in bytes from the start of the archive.
    pub offset: u64,
}

impl Member<'_> {
    /// What stands before its data, with zeros for the CRC-32; `None` if the name is too long.
    pub(super) fn local_header(&self) -> Option<Vec<u8>> {
        let mut extra = Vec::new();
        if self.is_large() {
            // Both sizes, and no others, must be there.
            extra.extend(field(ZIP64, &[self.bytes, self.bytes].map(u64::to_le_bytes).concat()));
        }
        let mut header = Vec::new();
        header.extend(0x0403_4b50u32.to_le_bytes());
        header.extend(self.version().to_le_bytes());
        self.push_common(&mut header);
        header.extend(u16::try_from(self.name.len()).ok()?.to_le_bytes());
        let end = self.offset + (header.len() + 2 + self.name.len() + extra.len()) as u64;
        extra.extend(padding(end));
        header.extend((extra.len() as u16).to_le_bytes());
        header.extend(self.name.as_bytes());
        header.extend(extra);
        Some(header)
    }

    /// What the directory says of it, with zeros for the CRC-32.
    fn entry(&self) -> Vec<u8> {
        let mut numbers = Vec::new();
        if self.is_large() {
            numbers.extend([self.bytes, self.bytes]);
        }
        let offset = narrow(self.offset);
        if offset == ELSEWHERE_32 {
            numbers.push(self.offset);
        }
        let extra = match numbers.is_empty() {
            true => Vec::new(),
            false => {
                field(ZIP64, &numbers.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>())
            }
        };
        let mut entry = Vec::new();
        entry.extend(0x0201_4b50u32.to_le_bytes());
        entry.extend((MADE_ON | self.version()).to_le_bytes());
        entry.extend(self.version().to_le_bytes());
        self.push_common(&mut entry);
        entry.extend((self.name.len() as u16).to_le_bytes());
        entry.extend((extra.len() as u16).to_le_bytes());
        // No comment, the first disk, no internal attributes.
        entry.extend([0; 6]);
        entry.extend(ATTRIBUTES.to_le_bytes());
        entry.extend(offset.to_le_bytes());
        entry.extend(self.name.as_bytes());
        entry.extend(extra);
        entry
    }

    /// What both have: flags, method, time, date, CRC-32, and the two sizes.
    fn push_common(&self, record: &mut Vec<u8>) {
        let flags = if self.name.is_ascii() { 0 } else { FLAG_UTF8 };
        record.extend(flags.to_le_bytes());
        // Stored, at midnight.
        record.extend([0; 4]);
        record.extend(DATE.to_le_bytes());
        record.extend([0; 4]);
        record.extend(narrow(self.bytes).to_le_bytes());
        record.extend(narrow(self.bytes).to_le_bytes());
    }

    fn is_large(&self) -> bool {
        narrow(self.bytes) == ELSEWHERE_32
    }

    fn version(&self) -> u16 {
        if self.is_large() || narrow(self.offset) == ELSEWHERE_32 { VERSION_ZIP64 } else { VERSION }
    }
}

/// An extra field.
fn field(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(content.len() as u16).to_le_bytes(), content].concat()
}

/// The extra field behind which something is aligned that would begin at `end`.
fn padding(end: u64) -> Vec<u8> {
    let missing = end.next_multiple_of(ALIGNMENT) - end;
    let bytes = match missing {
        0 => return Vec::new(),
        1..LEAST_PADDING => missing + ALIGNMENT,
        _ => missing,
    };
    let mut content = (ALIGNMENT as u16).to_le_bytes().to_vec();
    content.resize(bytes as usize - 4, 0);
    field(PADDING, &content)
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(ELSEWHERE_32)
}

/// What stands at the end of an archive.
#[derive(Default)]
pub(super) struct Directory {
    entries: Vec<u8>,
    members: u64,
    crc32s: Vec<(usize, u32)>,
}

impl Directory {
    /// Adds `member`; `before` is the CRC-32 of what it has before a tensor's data.
    pub(super) fn push(&mut self, member: &Member<'_>, before: u32) {
        self.crc32s.push((self.entries.len() + ENTRY_CHECKSUM, before));
        self.entries.extend(member.entry());
        self.members += 1;
    }

    /// For each member the place of its CRC-32, in bytes from the start of the directory, and
    /// the CRC-32 of what it has before a tensor's data.
    pub(super) fn crc32s(&self) -> &[(usize, u32)] {
        &self.crc32s
    }

    /// The bytes from `start` to the end of the archive.
    pub(super) fn finish(self, start: u64) -> Vec<u8> {
        let (members, bytes) = (self.members, self.entries.len() as u64);
        let short_members = u16::try_from(members).unwrap_or(ELSEWHERE_16);
        let is_large = short_members == ELSEWHERE_16
            || narrow(bytes) == ELSEWHERE_32
            || narrow(start) == ELSEWHERE_32;
        let mut end = self.entries;
        if is_large {
            end.extend(0x0606_4b50u32.to_le_bytes());
            // The bytes that follow in this record.
            end.extend(44u64.to_le_bytes());
            end.extend((MADE_ON | VERSION_ZIP64).to_le_bytes());
            end.extend(VERSION_ZIP64.to_le_bytes());
            // The first disk, twice.
            end.extend([0; 8]);
            for number in [members, members, bytes, start] {
                end.extend(number.to_le_bytes());
            }
            // Where this record is found: on the first disk, which is the only one.
            end.extend(0x0706_4b50u32.to_le_bytes());
            end.extend([0; 4]);
            end.extend((start + bytes).to_le_bytes());
            end.extend(1u32.to_le_bytes());
        }
        end.extend(0x0605_4b50u32.to_le_bytes());
        // The first disk, twice.
        end.extend([0; 4]);
        end.extend(short_members.to_le_bytes());
        end.extend(short_members.to_le_bytes());
        end.extend(narrow(bytes).to_le_bytes());
        end.extend(narrow(start).to_le_bytes());
        // No comment.
        end.extend([0; 2]);
        end
    }
}
