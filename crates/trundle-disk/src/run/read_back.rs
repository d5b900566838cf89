//! Reads the data of a tensor back from a file, and computes its checksums.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use trundle::Width;
use trundle_formats::{combined_crc32, lock};

use crate::plan::location::file_bytes;
use crate::run::checksums::{Checksum, Elements};
use crate::run::transfer::Data;
use crate::together::together;

const READ_BYTES: usize = 512 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadSums {
    pub(crate) checksum: Checksum,
    pub(crate) crc: u32,
}

/// Reads these elements with `threads` threads. Calls `goes_on` with the bytes of each part; if it returns false, the
/// error is [`io::ErrorKind::Interrupted`].
pub(crate) fn read_back(
    data: Data<'_>,
    elements: &[Range<usize>],
    threads: usize,
    goes_on: &(dyn Fn(u64) -> bool + Sync),
) -> io::Result<ReadSums> {
    let width = data.width;
    let bytes_of = |elements: usize| file_bytes(width, elements);
    // For sub-byte elements, a part must be a multiple of the group in every packing.
    let share = match width {
        Width::Bytes(unit) => (READ_BYTES / unit.max(1)).max(1),
        Width::SubByte(_) => READ_BYTES,
    };
    let part = |range: &Range<usize>| {
        let (start, end) = (range.start, range.end);
        (start..end).step_by(share).map(move |first| first..end.min(first + share))
    };
    let most = elements.iter().map(Range::len).max().unwrap_or(0).min(share);
    let parts: usize = elements.iter().map(|range| range.len().div_ceil(share)).sum();
    let next = Mutex::new(elements.iter().flat_map(part).enumerate());
    let found = Mutex::new((Checksum::default(), Crc::default()));
    let work = || -> io::Result<()> {
        let mut memory = vec![0; bytes_of(most)];
        loop {
            let part = lock(&next).next();
            let Some((part, range)) = part else { return Ok(()) };
            let (first, count) = (range.start, range.len());
            let (at, bytes) = (data.offset + bytes_of(first) as u64, bytes_of(count));
            let memory = &mut memory[..bytes];
            data.blob.read_exact_at(memory, at)?;
            if data.forget {
                data.blob.forget(at, bytes as u64);
            }
            let checksum = Elements::of_file(memory, width).checksum(first, count);
            let crc = trundle_formats::crc32(memory);
            let mut found = lock(&found);
            found.0.add(checksum);
            found.1.add(part, crc, bytes as u64);
            if !goes_on(bytes as u64) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    };
    together(threads.clamp(1, parts.max(1)), work)?;
    let (checksum, crc) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(ReadSums { checksum, crc: crc.all })
}

/// The CRC-32 of parts that arrive in any order. Early parts wait.
#[derive(Default)]
struct Crc {
    all: u32,
    parts: usize,
    waiting: BTreeMap<usize, (u32, u64)>,
}

impl Crc {
    fn add(&mut self, part: usize, crc: u32, bytes: u64) {
        self.waiting.insert(part, (crc, bytes));
        while let Some((crc, bytes)) = self.waiting.remove(&self.parts) {
            self.all = combined_crc32(self.all, crc, bytes);
            self.parts += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use trundle::DType;

    use super::*;
    use crate::run::faulty_store::{Faults, FaultyBlob};

    #[test]
    fn reading_in_parts_gives_the_checksums_of_the_whole() {
        let bytes: Vec<u8> =
            (0..3 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let faults = Faults { at_once: 99_999, ..Faults::default() };
        let file = FaultyBlob::new(&[b"before", &bytes[..]].concat(), faults);
        for dtype in [DType::U8, DType::Bytes(3), DType::F64, DType::U3] {
            let width = trundle_formats::StoredDType::new(dtype).width();
            let elements = match width {
                Width::Bytes(unit) => bytes.len() / unit,
                Width::SubByte(_) => bytes.len() * 2 - 8,
            };
            let length = width.bytes(elements * width.units());
            for threads in [1, 4] {
                let data = Data { blob: &file, offset: 6, width, forget: true, source: None };
                let found = read_back(data, from_ref(&(0..elements)), threads, &|_| true).unwrap();
                let checksum = Elements::of_file(&bytes[..length], width).checksum(0, elements);
                let crc = trundle_formats::crc32(&bytes[..length]);
                assert_eq!(found, ReadSums { checksum, crc }, "{dtype:?}");
            }
        }
    }

    #[test]
    fn a_file_that_is_too_short_is_an_error() {
        let file = FaultyBlob::new(&[0; 99], Faults::default());
        let width = Width::Bytes(1);
        let data = Data { blob: &file, offset: 0, width, forget: false, source: None };
        assert!(read_back(data, from_ref(&(0..99)), 3, &|_| true).is_ok());
        assert_eq!(
            read_back(data, from_ref(&(0..100)), 3, &|_| true).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }
}
