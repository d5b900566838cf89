//! A tensor as a file in which another one is written: nothing is, but what would be written is held
//! against what stands there.
//!
//! So two tensors are compared by a job that moves one of them to where the other stands, whatever the
//! orders of both, in as many passes and tiles as the memory makes them.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trundle::{Packing, Shape, Width};
use trundle_formats::{Blob, Order, StoredDType};

/// What is read at once, by each thread that writes.
const PART_BYTES: usize = 64 << 10;

/// A tensor that stands somewhere, as that to which a job writes another one of its shape: whole elements,
/// each once, contiguous and in the same order.
#[derive(Debug)]
pub(crate) struct Counterpart<'a> {
    blob: &'a dyn Blob,
    /// Where its data begins, in bytes.
    offset: u64,
    element: &'a StoredDType,
    /// The type of the elements that are written, which is alike.
    written: &'a StoredDType,
    shape: &'a Shape,
    order: Order,
    found: Mutex<Found>,
    /// Why it cannot be read: whoever writes knows only that writing failed.
    fault: Mutex<Option<io::Error>>,
}

/// What differs of it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// How many elements.
    pub(crate) count: u64,
    /// The one with the least index.
    pub(crate) first: Option<First>,
}

/// An element that differs.
#[derive(Debug)]
pub(crate) struct First {
    /// How many elements come before it in row-major order.
    pub(crate) place: usize,
    /// Its bytes as they would be written, and as they stand there, both as of the type that is written; a
    /// packed element is one byte.
    pub(crate) values: [Vec<u8>; 2],
}

impl<'a> Counterpart<'a> {
    /// The tensor of `element` and `shape` whose data begins at `offset` of `blob`, as a file of elements
    /// of `written`.
    pub(crate) fn new(
        (blob, offset): (&'a dyn Blob, u64),
        element: &'a StoredDType,
        written: &'a StoredDType,
        shape: &'a Shape,
        order: Order,
    ) -> Counterpart<'a> {
        let (found, fault) = Default::default();
        Counterpart { blob, offset, element, written, shape, order, found, fault }
    }

    /// What differs, or why it could not be read.
    pub(crate) fn into_found(self) -> io::Result<Found> {
        match self.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(fault) => Err(fault),
            None => Ok(self.found.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// The bytes from `at` on, as a file of the type that is written would have them.
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match (self.element.width(), self.written.width()) {
            (Width::SubByte(own), Width::SubByte(written)) if own != written => {
                self.repacked(own, written, bytes, at)
            }
            _ => {
                self.blob.read_exact_at(bytes, self.offset + at)?;
                self.written.adopt_byte_order(self.element, bytes);
                Ok(())
            }
        }
    }

    /// The same of elements that are packed otherwise.
    fn repacked(
        &self,
        own: Packing,
        written: Packing,
        bytes: &mut [u8],
        at: u64,
    ) -> io::Result<()> {
        let (first, count) = self.elements(bytes.len(), at);
        let begin = own.bytes(first);
        let mut packed = vec![0; own.bytes(first + count) - begin];
        self.blob.read_exact_at(&mut packed, self.offset + begin as u64)?;
        bytes.fill(0);
        for index in 0..count {
            written.set(bytes, index, own.get(&packed, index));
        }
        Ok(())
    }

    /// The first of the elements in so many bytes from `at` on, with which they begin, and how many are
    /// whole there.
    fn elements(&self, bytes: usize, at: u64) -> (usize, usize) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let (first, count) = match self.written.width() {
            Width::Bytes(width) => (at / width.max(1), bytes / width.max(1)),
            Width::SubByte(packing) => {
                (at / packing.group_bytes() * packing.group(), bytes * 8 / packing.bits())
            }
        };
        (first, count.min(self.shape.elements().saturating_sub(first)))
    }

    /// Counts what differs between bytes that would be written at `at` and those that stand there.
    fn note(&self, written: &[u8], own: &[u8], at: u64) {
        let (begin, count) = self.elements(written.len(), at);
        let value = |bytes: &[u8], index: usize| match self.written.width() {
            Width::Bytes(width) => bytes[index * width..][..width].to_vec(),
            Width::SubByte(packing) => vec![packing.get(bytes, index)],
        };
        let differs = |index: &usize| match self.written.width() {
            Width::Bytes(width) => {
                written[index * width..][..width] != own[index * width..][..width]
            }
            Width::SubByte(packing) => packing.get(written, *index) != packing.get(own, *index),
        };
        let (mut different, mut least) = (0, None);
        // Along the fastest axis the first one has the least index, be that the first axis or the last.
        let line = match self.order {
            Order::RowMajor => usize::MAX,
            Order::ColumnMajor => self.shape.first().copied().unwrap_or(1).max(1),
        };
        let mut last_line = None;
        for index in (0..count).filter(differs) {
            different += 1;
            let own_line = (begin + index) / line;
            if last_line.replace(own_line) != Some(own_line) {
                let place = (self.place(begin + index), index);
                least = Some(least.map_or(place, |before: (usize, usize)| before.min(place)));
            }
        }
        let mut found = locked(&self.found);
        found.count += different;
        if let Some((place, index)) = least
            && found.first.as_ref().is_none_or(|first| place < first.place)
        {
            let values = [value(written, index), value(own, index)];
            found.first = Some(First { place, values });
        }
    }

    /// How many elements come before one in row-major order, if so many do where it stands.
    fn place(&self, element: usize) -> usize {
        if self.order == Order::RowMajor {
            return element;
        }
        let (mut rest, mut place, mut step) = (element, 0, self.shape.elements());
        for size in self.shape.iter() {
            step /= size;
            place += rest % size * step;
            rest /= size;
        }
        place
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Blob for Counterpart<'_> {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.written.width().bytes(self.shape.elements() * self.written.width().units()) as u64)
    }

    /// Elements that share bytes with those that are written are as they stand there, and so do not
    /// differ.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read(buffer, offset).inspect_err(|error| {
            locked(&self.fault).get_or_insert(copy_of(error));
        })?;
        Ok(buffer.len())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let unit = match self.written.width() {
            Width::Bytes(width) => width.max(1),
            Width::SubByte(packing) => packing.group_bytes(),
        };
        let part = (PART_BYTES / unit).max(1) * unit;
        let mut own = vec![0; part.min(bytes.len())];
        let mut at = offset;
        for written in bytes.chunks(part) {
            let own = &mut own[..written.len()];
            self.read_exact_at(own, at)?;
            if own != written {
                self.note(written, own, at);
            }
            at += written.len() as u64;
        }
        Ok(bytes.len())
    }

    fn resize(&self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn forget(&self, offset: u64, bytes: u64) {
        self.blob.forget(self.offset + offset, bytes);
    }
}

/// The same error once more.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
