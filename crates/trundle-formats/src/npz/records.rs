//! Makes the records of a zip archive with stored members (PKWARE's APPNOTE.TXT, version 6.3.10, section 4.3).

/// The offset of the CRC-32 in a local header.
pub(super) const LOCAL_CHECKSUM: usize = 14;

/// The offset of the CRC-32 in a directory entry.
const ENTRY_CHECKSUM: usize = 16;

const ALIGNMENT: u64 = 64;

/// The values of fields whose number is in a Zip64 record instead.
const ELSEWHERE_16: u16 = u16::MAX;
const ELSEWHERE_32: u32 = u32::MAX;

const ZIP64: u16 = 1;

/// The kind of the extra field for padding, as in Android's `zipalign`: the alignment, then zeros.
const PADDING: u16 = 0xd935;
const LEAST_PADDING: u64 = 6;

/// The versions of the format that a reader must support: 2.0, or 4.5 for Zip64.
const VERSION: u16 = 20;
const VERSION_ZIP64: u16 = 45;

/// Made on Unix. The upper half of the attributes has the permissions: read and write for the owner, as in Python's
/// `zipfile`.
const MADE_ON: u16 = 3 << 8;
const ATTRIBUTES: u32 = 0o600 << 16;

const FLAG_UTF8: u16 = 1 << 11;

/// 1 January 1980, the earliest date. A constant date keeps files reproducible.
const DATE: u16 = 1 << 5 | 1;

pub(super) struct Member<'a> {
    pub name: &'a str,
    pub bytes: u64,
    /// The offset of the local header from the start of the archive.
    pub offset: u64,
}

impl Member<'_> {
    /// Returns all bytes before the data, with a CRC-32 of 0; `None` if the name is too long.
    pub(super) fn local_header(&self) -> Option<Vec<u8>> {
        let mut extra = Vec::new();
        if self.is_large() {
            // The local header must have both sizes, and no other numbers.
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

    /// Appends the common fields: flags, method, time, date, CRC-32, and the two sizes.
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

fn field(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(content.len() as u16).to_le_bytes(), content].concat()
}

/// Returns the extra field that aligns the data, which would otherwise begin at `end`.
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

#[derive(Default)]
pub(super) struct Directory {
    entries: Vec<u8>,
    members: u64,
    crc32s: Vec<(usize, u32)>,
}

impl Directory {
    /// `before` is the CRC-32 of the member's bytes before the data of the tensor.
    pub(super) fn push(&mut self, member: &Member<'_>, before: u32) {
        self.crc32s.push((self.entries.len() + ENTRY_CHECKSUM, before));
        self.entries.extend(member.entry());
        self.members += 1;
    }

    /// Returns, for each member, the offset of its CRC-32 in the directory, and the CRC-32 of its bytes before the
    /// data.
    pub(super) fn crc32s(&self) -> &[(usize, u32)] {
        &self.crc32s
    }

    /// Returns the bytes of the archive from `start` to its end.
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
            // The first disk, in two fields.
            end.extend([0; 8]);
            for number in [members, members, bytes, start] {
                end.extend(number.to_le_bytes());
            }
            // The locator: this record is on the first and only disk.
            end.extend(0x0706_4b50u32.to_le_bytes());
            end.extend([0; 4]);
            end.extend((start + bytes).to_le_bytes());
            end.extend(1u32.to_le_bytes());
        }
        end.extend(0x0605_4b50u32.to_le_bytes());
        // The first disk, in two fields.
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
