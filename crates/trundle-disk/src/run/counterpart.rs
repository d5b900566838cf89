//! A destination that compares instead of storing: bytes that are written to it are compared with an existing tensor.
//!
//! Two tensors are compared by a job that moves one of them to the layout of the other, in as many passes and tiles as
//! the memory limit requires.

use std::io;
use std::sync::{Mutex, PoisonError};

use trundle::{Packing, Shape, Width};
use trundle_formats::{Blob, Order, StoredDType, lock};

const PART_BYTES: usize = 64 << 10;

/// An existing tensor, as the destination of a job that writes a tensor of the same shape in the same order, in whole
/// elements, each exactly once.
#[derive(Debug)]
pub(crate) struct Counterpart<'a> {
    blob: &'a dyn Blob,
    /// The offset of the tensor's data in bytes.
    offset: u64,
    element: &'a StoredDType,
    /// The type of the written elements. It may differ from `element` only in byte order or bit order.
    written: &'a StoredDType,
    shape: &'a Shape,
    order: Order,
    found: Mutex<Differences>,
    /// The first error of reading the tensor. The code that writes learns only that the write failed.
    fault: Mutex<Option<io::Error>>,
}

#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub(crate) count: u64,
    pub(crate) first: Option<FirstDifference>,
}

#[derive(Debug)]
pub(crate) struct FirstDifference {
    /// Its position in row-major order.
    pub(crate) position: usize,
    /// Its bytes as written and as stored, both in the written type. A packed element is one byte.
    pub(crate) values: [Vec<u8>; 2],
}

impl<'a> Counterpart<'a> {
    /// Makes the destination for elements of the type `written`, over the tensor whose data begins at `offset` of
    /// `blob`.
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

    pub(crate) fn into_differences(self) -> io::Result<Differences> {
        match self.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(fault) => Err(fault),
            None => Ok(self.found.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Reads bytes from offset `at`, converted to the written type.
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

    /// Returns the index of the first element in the bytes at `at`, and the number of whole elements in them.
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
        // Along the axis that varies fastest, the first difference has the smallest index in either order.
        let line = match self.order {
            Order::RowMajor => usize::MAX,
            Order::ColumnMajor => self.shape.first().copied().unwrap_or(1).max(1),
        };
        let mut last_line = None;
        for index in (0..count).filter(differs) {
            different += 1;
            let own_line = (begin + index) / line;
            if last_line.replace(own_line) != Some(own_line) {
                let position = (self.position(begin + index), index);
                least = Some(least.map_or(position, |before: (usize, usize)| before.min(position)));
            }
        }
        let mut found = lock(&self.found);
        found.count += different;
        if let Some((position, index)) = least
            && found.first.as_ref().is_none_or(|first| position < first.position)
        {
            let values = [value(written, index), value(own, index)];
            found.first = Some(FirstDifference { position, values });
        }
    }

    /// Converts the index of a stored element to its position in row-major order.
    fn position(&self, element: usize) -> usize {
        if self.order == Order::RowMajor {
            return element;
        }
        let (mut rest, mut position, mut step) = (element, 0, self.shape.elements());
        for size in self.shape.iter() {
            step /= size;
            position += rest % size * step;
            rest /= size;
        }
        position
    }
}

impl Blob for Counterpart<'_> {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.written.width().bytes(self.shape.elements() * self.written.width().units()) as u64)
    }

    /// Returns the stored elements, so that the other elements in partly written bytes do not differ.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read(buffer, offset).inspect_err(|error| {
            lock(&self.fault).get_or_insert(copy_of(error));
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

fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use trundle::{BitOrder, DType};

    use super::*;
    use crate::run::faulty_store::{Faults, FaultyBlob};

    fn found(
        blob: &FaultyBlob,
        written: &[u8],
        piece: usize,
        (element, of): (&StoredDType, &StoredDType),
        (shape, order): (&Shape, Order),
    ) -> Differences {
        let counterpart = Counterpart::new((blob, 3), element, of, shape, order);
        for (number, piece_bytes) in written.chunks(piece).enumerate() {
            counterpart.write_all_at(piece_bytes, (number * piece) as u64).unwrap();
        }
        counterpart.into_differences().unwrap()
    }

    #[test]
    fn changes_are_found_at_their_index_for_any_piece_length() {
        let (shape, element) = (Shape::new([3, 5, 4]).unwrap(), StoredDType::new(DType::U16));
        let bytes: Vec<u8> = (0..120).collect();
        let faults = Faults { at_once: 7, ..Faults::default() };
        let blob = FaultyBlob::new(&[b"abc", &bytes[..]].concat(), faults);
        for order in [Order::RowMajor, Order::ColumnMajor] {
            for piece in [2, 6, 48, 120] {
                let types = (&element, &element);
                assert_eq!(found(&blob, &bytes, piece, types, (&shape, order)).count, 0);
                for at in 0..60 {
                    let (mut one, mut two) = (bytes.clone(), bytes.clone());
                    one[2 * at + 1] ^= 1;
                    two[2 * at] ^= 1;
                    two[119 - 2 * at] ^= 1;
                    let position = |at: usize| match order {
                        Order::RowMajor => at,
                        Order::ColumnMajor => at % 3 * 20 + at / 3 % 5 * 4 + at / 15,
                    };
                    let alone = found(&blob, &one, piece, types, (&shape, order));
                    let first = alone.first.unwrap();
                    assert_eq!((alone.count, first.position), (1, position(at)), "{order} {piece}");
                    let values = [one[2 * at..][..2].to_vec(), bytes[2 * at..][..2].to_vec()];
                    assert_eq!(first.values, values);
                    let both = found(&blob, &two, piece, types, (&shape, order));
                    let least = position(at).min(position(59 - at));
                    assert_eq!((both.count, both.first.unwrap().position), (2, least));
                }
            }
        }
    }

    #[test]
    fn of_many_changes_the_lowest_index_is_reported() {
        // The data is longer than one part, and all of its elements differ.
        let (shape, element) = (Shape::new([9, 40_000]).unwrap(), StoredDType::new(DType::U8));
        let blob = FaultyBlob::new(&vec![0; 360_003], Faults::default());
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let mut written = vec![1; 360_000];
            written[..20].fill(0);
            let least = match order {
                Order::RowMajor => 20,
                Order::ColumnMajor => 3,
            };
            let found = found(&blob, &written, 100_000, (&element, &element), (&shape, order));
            assert_eq!((found.count, found.first.unwrap().position), (359_980, least), "{order}");
        }
    }

    #[test]
    fn sub_byte_elements_are_compared_across_bit_orders() {
        let shape = Shape::new([11]).unwrap();
        let codes: Vec<u8> = (0..11).map(|n| n * 5 % 8).collect();
        let of = |order| StoredDType::new(DType::U3).with_bit_order(order).unwrap();
        for (own, written) in [BitOrder::LowFirst, BitOrder::Split].map(of).iter().flat_map(|own| {
            [BitOrder::LowFirst, BitOrder::Split].map(|order| (own.clone(), of(order)))
        }) {
            let packed = |element: &StoredDType, codes: &[u8]| {
                let packing = element.width().packing().unwrap();
                // Unused bits are ignored.
                let mut bytes = vec![0xff; packing.bytes(11)];
                codes.iter().enumerate().for_each(|(at, code)| packing.set(&mut bytes, at, *code));
                bytes
            };
            let stored = [b"abc", &packed(&own, &codes)[..]].concat();
            let blob = FaultyBlob::new(&stored, Faults::default());
            let (types, layout) = ((&own, &written), (&shape, Order::RowMajor));
            let same = packed(&written, &codes);
            assert_eq!(found(&blob, &same, 6, types, layout).count, 0);
            let mut changed = codes.clone();
            changed[9] ^= 2;
            let found = found(&blob, &packed(&written, &changed), 3, types, layout);
            let first = found.first.unwrap();
            assert_eq!((found.count, first.position), (1, 9));
            assert_eq!(first.values, [vec![changed[9]], vec![codes[9]]]);
            let counterpart = Counterpart::new((&blob, 3), &own, &written, &shape, Order::RowMajor);
            let mut read = vec![0; 3];
            counterpart.read_exact_at(&mut read, 0).unwrap();
            let packing = written.width().packing().unwrap();
            let back: Vec<u8> = (0..8).map(|at| packing.get(&read, at)).collect();
            assert_eq!(back, codes[..8]);
        }
    }

    #[test]
    fn an_error_of_reading_the_counterpart_is_reported() {
        let (shape, element) = (Shape::new([4]).unwrap(), StoredDType::new(DType::U8));
        let order = Order::RowMajor;
        let faults = Faults { reads: AtomicUsize::new(1), ..Faults::default() };
        let blob = FaultyBlob::new(&[0; 7], faults);
        let counterpart = Counterpart::new((&blob, 3), &element, &element, &shape, order);
        counterpart.write_all_at(&[0, 0], 0).unwrap();
        assert!(counterpart.write_all_at(&[0, 0], 2).is_err());
        assert_eq!(counterpart.into_differences().unwrap_err().kind(), io::ErrorKind::Other);
        let short = FaultyBlob::new(&[0; 6], Faults::default());
        let counterpart = Counterpart::new((&short, 3), &element, &element, &shape, order);
        assert!(counterpart.write_all_at(&[0; 4], 0).is_err());
        assert_eq!(
            counterpart.into_differences().unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }
}
