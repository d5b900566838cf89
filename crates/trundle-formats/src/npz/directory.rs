//! Reads and checks the directory of a zip archive.

use rawzip::{
    CompressionMethod, EntryFlags, ErrorKind, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
    ZipFileHeaderRecord,
};

use super::member::{Member, Method};
use crate::Problem;
use crate::gunzip::MOST_INFLATED;
use crate::names::{check_relative, check_unique};
use crate::source::Source;

/// The size in bytes of a buffer for the name, extra fields and comment of any member, each up to 64 KiB.
const RECORD_BYTES: usize = 4 << 16;

const LOCAL_HEADER_BYTES: u64 = 30;

/// The flag of a member whose data is a patch for another file.
const PATCH: u16 = 1 << 5;

struct ZipEntry {
    name: Vec<u8>,
    wayfinder: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    header_offset: u64,
    is_encrypted: bool,
    member: Member,
    /// Why the member cannot be read as a tensor, if so.
    fault: Option<Problem>,
}

/// Checks that no two members have the same name.
///
/// # Errors
/// [`Problem::Malformed`] with the name.
pub(crate) fn check_names(members: &[(Member, Option<Problem>)]) -> Result<(), Problem> {
    check_unique(members.iter().map(|(member, _)| &member.name[..])).map_err(|name| {
        Problem::Malformed(format!("two members of the archive are named \"{name}\""))
    })
}

/// Reads the members of the archive in `source`, in the order of its directory. A member that cannot be read, or whose
/// name does not end with `ending`, comes with the reason. Several members can have the same name.
///
/// # Errors
/// [`Problem::Malformed`] or [`Problem::Unsupported`], as the module documentation of `npz` explains.
pub(crate) fn read(
    source: &mut Source,
    ending: &str,
) -> Result<Vec<(Member, Option<Problem>)>, Problem> {
    let mut buffer = vec![0; RECORD_BYTES];
    let archive = ZipArchive::from_seekable(source, &mut buffer).map_err(malformed)?;
    let mut entries = entries(&archive, &mut buffer, ending)?;
    // Check before any member is read that no byte belongs to two members: then the size of the archive limits the data
    // of all members.
    let mut by_offset: Vec<&mut ZipEntry> = entries.iter_mut().collect();
    by_offset.sort_by_key(|entry| entry.header_offset);
    let ends: Vec<u64> = by_offset.iter().skip(1).map(|entry| entry.header_offset).collect();
    let ends = ends.into_iter().chain([archive.directory_offset()]);
    for (entry, end) in by_offset.into_iter().zip(ends) {
        entry.check_room(end)?;
        entry
            .find_data(&archive, end, &mut buffer)
            .map_err(|problem| entry.member.problem(problem))?;
    }
    Ok(entries.into_iter().map(|entry| (entry.member, entry.fault)).collect())
}

fn malformed(error: rawzip::Error) -> Problem {
    let text = error.to_string();
    match error.into_kind() {
        ErrorKind::IO(error) if error.raw_os_error().is_some() => Problem::reading(error),
        ErrorKind::MissingEndOfCentralDirectory => {
            Problem::Malformed("not a zip archive: it has no directory at its end".to_owned())
        }
        _ => Problem::Malformed(format!("malformed archive: {text}")),
    }
}

fn entries(
    archive: &ZipArchive<impl ReaderAt>,
    buffer: &mut [u8],
    ending: &str,
) -> Result<Vec<ZipEntry>, Problem> {
    let mut found = 0;
    let mut entries = Vec::new();
    let mut records = archive.entries(buffer);
    while let Some(record) = records.next_entry().map_err(malformed)? {
        found += 1;
        if !record.is_dir() || record.uncompressed_size_hint() > 0 {
            entries.push(entry(&record, ending)?);
        }
    }
    let expected = archive.entries_hint();
    if found != expected {
        return Err(Problem::Malformed(format!(
            "the archive's directory has {found} members, but says {expected}"
        )));
    }
    Ok(entries)
}

fn entry(record: &ZipFileHeaderRecord<'_>, ending: &str) -> Result<ZipEntry, Problem> {
    let raw = record.file_path().as_bytes().to_vec();
    let name = decoded(&raw, record.flags().is_utf8())?;
    let method = record.compression_method();
    let member = Member {
        name,
        method: if method == CompressionMethod::STORE { Method::Stored } else { Method::Deflated },
        start: 0,
        packed_bytes: record.compressed_size_hint(),
        bytes: record.uncompressed_size_hint(),
        crc32: record.crc32(),
    };
    let fault = match check(&member, record, ending) {
        Ok(()) => None,
        Err(fault @ Problem::Unsupported(_)) => Some(fault),
        Err(problem) => return Err(member.problem(problem)),
    };
    let (wayfinder, header_offset) = (record.wayfinder(), record.local_header_offset());
    let is_encrypted = is_encrypted(record.flags());
    Ok(ZipEntry { name: raw, wayfinder, method, header_offset, is_encrypted, member, fault })
}

fn is_encrypted(flags: EntryFlags) -> bool {
    flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked()
}

/// Decodes a name: UTF-8 if the member's flags state so, otherwise code page 437, as in Python.
fn decoded(name: &[u8], is_utf8: bool) -> Result<String, Problem> {
    if is_utf8 {
        return String::from_utf8(name.to_vec()).map_err(|_| {
            Problem::Malformed(format!("the name \"{}\" is not UTF-8", name.escape_ascii()))
        });
    }
    Ok(name.iter().map(|byte| code_page_437(*byte)).collect())
}

/// Decodes a byte of code page 437, the original encoding of zip archives.
fn code_page_437(byte: u8) -> char {
    const UPPER: &str = "\
        ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
        └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(at) => UPPER.chars().nth(at.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn check(member: &Member, record: &ZipFileHeaderRecord<'_>, ending: &str) -> Result<(), Problem> {
    let tensor_name = member.name.strip_suffix(ending);
    check_relative(tensor_name.unwrap_or(&member.name))
        .map_err(|why| Problem::Malformed(format!("its name {why}")))?;
    if tensor_name.is_none() {
        return Err(Problem::Unsupported(format!(
            "is not an {ending} file: its name does not end with {ending}"
        )));
    }
    if is_encrypted(record.flags()) {
        return Err(Problem::unsupported("is encrypted"));
    }
    if record.flags().bits() & PATCH != 0 {
        return Err(Problem::unsupported("holds a patch for another file"));
    }
    let (packed, bytes) = (member.packed_bytes, member.bytes);
    match record.compression_method() {
        CompressionMethod::STORE if packed != bytes => Err(Problem::Malformed(format!(
            "is stored uncompressed, but its {bytes} bytes take {packed}"
        ))),
        CompressionMethod::DEFLATE if packed.saturating_mul(MOST_INFLATED) < bytes => {
            Err(Problem::Malformed(format!("{packed} compressed bytes cannot hold {bytes}")))
        }
        CompressionMethod::STORE | CompressionMethod::DEFLATE => Ok(()),
        other => Err(Problem::Unsupported(match other.name() {
            Some(name) => format!("is compressed with {name}: expected STORE or DEFLATE"),
            None => format!("is compressed with the unknown method {}", other.as_u16()),
        })),
    }
}

impl ZipEntry {
    /// Checks that the member ends before `end`, where the next part begins, even without the extra field of its local
    /// header, whose length is not known yet.
    fn check_room(&self, end: u64) -> Result<(), Problem> {
        let header_bytes = LOCAL_HEADER_BYTES + self.name.len() as u64;
        let least = header_bytes.saturating_add(self.member.packed_bytes);
        self.check_end(self.header_offset.saturating_add(least), end)
    }

    fn check_end(&self, own: u64, end: u64) -> Result<(), Problem> {
        if own <= end {
            return Ok(());
        }
        let found = format!("uses the bytes up to {own}, but another part begins at {end}");
        Err(self.member.problem(Problem::Malformed(found)))
    }

    /// Finds the data of the member, and checks that the local header agrees with the directory.
    fn find_data(
        &mut self,
        archive: &ZipArchive<impl ReaderAt>,
        end: u64,
        buffer: &mut [u8],
    ) -> Result<(), Problem> {
        let entry = archive.get_entry(self.wayfinder).map_err(malformed)?;
        let (start, data_end) = entry.compressed_data_range();
        self.check_end(data_end, end)?;
        let local = entry.local_header(buffer).map_err(malformed)?;
        let sizes = (local.compressed_size_hint(), local.uncompressed_size_hint());
        // With a data descriptor after the data, the local header has neither the sizes nor the CRC-32.
        let is_complete = !local.flags().has_data_descriptor();
        let differs = if local.file_path().as_bytes() != self.name {
            "name"
        } else if local.compression_method() != self.method {
            "method"
        } else if is_encrypted(local.flags()) != self.is_encrypted {
            "encryption"
        } else if is_complete && sizes != (self.member.packed_bytes, self.member.bytes) {
            "size"
        } else if is_complete && local.crc32() != self.member.crc32 {
            "CRC-32"
        } else {
            self.member.start = start;
            return Ok(());
        };
        Err(Problem::Malformed(format!(
            "its {differs} in the archive's directory differs from the one in front of its data"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmarked_names_are_in_code_page_437() {
        let name: Vec<u8> = [b'a', 0x80, 0x8f, 0xb0, 0xe1, 0xff].to_vec();
        assert_eq!(decoded(&name, false).unwrap(), "aÇÅ░ß\u{a0}");
        assert!((0..=255).all(|byte| code_page_437(byte) != char::REPLACEMENT_CHARACTER));
        assert_eq!(decoded("é".as_bytes(), true).unwrap(), "é");
        assert!(decoded(&name, true).is_err());
    }
}
