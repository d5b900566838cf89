//! The format of `numpy.savez`: a zip archive with an .npy file for each tensor.
//!
//! Stored and deflated members are read, also with Zip64. The archive is not trusted: members must not overlap, so that
//! no data counts twice; names must not lead out of the folder to which the archive is unpacked; the directory must
//! agree with the local headers, the .npy headers and the CRC-32 values. Bytes after a member's data are skipped with a
//! warning. Members with Python objects or in other formats are listed as unreadable.
//!
//! Members are written stored, as by `numpy.savez`, but with the data aligned to 64 bytes for memory mapping.

pub(crate) mod directory;
pub(crate) mod member;
mod records;

use std::io::{self, Write};

use self::member::Member;
use crate::contents::{Contents, Listing};
use crate::format::Keeps;
use crate::names::check_relative;
use crate::skeleton::check_names;
use crate::source::{Source, copy, read_data};
use crate::tensor_hint::TensorHint;
#[cfg(feature = "zarr")]
use crate::zarr::zip;
use crate::{
    Blob, Described, FileSkeleton, Format, Header, Problem, Progress, Unreadable, crc32, npy,
};

pub(crate) const FORMAT: Format = Format {
    name: "npz",
    endings: &["npz"],
    holds_one: false,
    keeps: Keeps::Nothing,
    states_column_major: true,
    begins: |first| first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06"),
    open,
    skeleton: Some(skeleton),
    folder: None,
};

/// The end of a member's name, after the name of the tensor.
const ENDING: &str = ".npy";

struct Archive {
    listing: Listing,
    /// The member of each tensor, and the length of its .npy header in bytes.
    members: Vec<(Member, u64)>,
    source: Source,
}

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    if source.length().is_none() {
        return Err(Problem::unsupported(
            "a zip archive is read from its end, so it must be a file, not a stream",
        ));
    }
    let mut headers = Vec::new();
    let mut members = Vec::new();
    let mut unreadable = Vec::new();
    let mut first_unreadable = None;
    let read = directory::read(&mut source, ENDING)?;
    #[cfg(feature = "zarr")]
    if read.iter().any(|(member, _)| zip::is_metadata(&member.name)) {
        return zip::open(source, hint);
    }
    directory::check_names(&read)?;
    for (member, fault) in read {
        let read = match fault {
            Some(fault) => Err(fault),
            None => read_header(&member, &mut source),
        };
        match read {
            Ok((header, header_bytes)) => {
                headers.push(header);
                members.push((member, header_bytes));
            }
            Err(problem @ Problem::Unsupported(_)) => {
                first_unreadable.get_or_insert_with(|| member.name.clone());
                unreadable.push(Unreadable { name: member.tensor_name().to_owned(), problem });
            }
            Err(problem) => return Err(member.problem(problem)),
        }
    }
    if headers.is_empty() && !unreadable.is_empty() {
        let problem = unreadable.swap_remove(0).problem;
        return Err(Problem::member(first_unreadable.unwrap_or_default(), problem));
    }
    let headers = hint.apply_to_any(headers)?;
    let listing = Listing { headers, unreadable, ..Listing::default() };
    Ok(Box::new(Archive { listing, members, source }))
}

/// Reads the .npy header of a member, and returns its length as well.
fn read_header(member: &Member, source: &mut Source) -> Result<(Header, u64), Problem> {
    let mut reader = member.read(source)?;
    let (mut header, header_bytes) =
        npy::read_header(&mut reader, member.tensor_name().to_owned())?;
    let (expected, got) = (header.data_bytes as u64, member.bytes.saturating_sub(header_bytes));
    if got < expected {
        return Err(Problem::Truncated { part: "the data", expected, got });
    }
    header.annotations.unread.extend((got > expected).then(|| npy::BEHIND_DATA.to_owned()));
    let data_offset = member.offset_of(header_bytes);
    Ok((Header { data_offset, ..header }, header_bytes))
}

impl Archive {
    /// Passes the data of the tensor at `index` to `take`, then checks that it is complete and has the right CRC-32.
    fn read<T>(
        &mut self,
        index: usize,
        take: impl FnOnce(&mut member::Reader<'_>, usize) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let Archive { listing, members, source } = self;
        let (member, header_bytes) = &members[index];
        let data_bytes = listing.headers[index].data_bytes;
        let read = || {
            let mut reader = member.read(source)?;
            copy(&mut reader, *header_bytes, &mut io::sink(), &mut |_| ())?;
            let taken = take(&mut reader, data_bytes)?;
            reader.finish()?;
            Ok(taken)
        };
        read().map_err(|problem| member.problem(problem))
    }
}

impl Contents for Archive {
    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn blob(&self) -> Option<&dyn Blob> {
        self.source.blob()
    }

    fn has_crc32(&self) -> bool {
        true
    }

    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        self.read(index, |reader, bytes| {
            let stored = reader.stored();
            read_data(reader, bytes, stored, progress)
        })
    }

    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        self.read(index, |reader, bytes| copy(reader, bytes as u64, out, progress).map(drop))
    }
}

fn skeleton(tensors: &[Described<'_>], _: &[(String, String)]) -> Result<FileSkeleton, Problem> {
    check_names(FORMAT.name, tensors)?;
    let mut skeleton = FileSkeleton::default();
    let mut directory = records::Directory::default();
    for (number, tensor) in tensors.iter().enumerate() {
        let refused = |why| tensor.refused(FORMAT.name, why);
        check_relative(tensor.name).map_err(refused)?;
        let name = format!("{}{ENDING}", tensor.name);
        let header = npy::header_bytes(tensor)?;
        let data_bytes = tensor.bytes()?;
        let member = records::Member {
            name: &name,
            bytes: (header.len() as u64).saturating_add(data_bytes as u64),
            offset: skeleton.bytes(),
        };
        let before = crc32(&header);
        let start = member.local_header().ok_or_else(|| refused("its name is too long"))?;
        skeleton.expect_crc32(records::LOCAL_CHECKSUM, number, before);
        skeleton.push([start, header].concat())?;
        skeleton.push_data(data_bytes)?;
        directory.push(&member, before);
    }
    for (number, (at, before)) in directory.crc32s().iter().enumerate() {
        skeleton.expect_crc32(*at, number, *before);
    }
    let end = directory.finish(skeleton.bytes());
    skeleton.push(end)?;
    Ok(skeleton)
}
