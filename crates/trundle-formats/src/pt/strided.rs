//! Tensors that are not row-major in their storage. Their elements in row-major order follow the bytes of the file.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::{Blob, BlobIdentity};

/// The most bytes of a storage that are read at once.
const MOST_SPAN: u64 = 1 << 24;

/// Reads of up to this many bytes are not split, even if most of the bytes are not needed.
const SHORT_SPAN: u64 = 1 << 16;

/// The part of a span that is needed, at least, in reads of more bytes.
const LEAST_PART: u64 = 16;

/// The most bytes that are filled by one call.
const MOST_BYTES: usize = 1 << 24;

/// A tensor with the positions of its elements in the file.
#[derive(Debug)]
pub(super) struct Strided {
    /// The offset of the first element in bytes.
    pub(super) begin: u64,
    /// The size of an element in bytes.
    pub(super) width: usize,
    pub(super) sizes: Vec<u64>,
    /// The strides in bytes.
    pub(super) strides: Vec<u64>,
}

/// The bytes of the file, followed by the elements of the strided tensors.
#[derive(Debug)]
pub(super) struct WithStrided {
    pub(super) file: Arc<dyn Blob>,
    pub(super) file_bytes: u64,
    /// The tensors with elements, each with the offset at which its elements begin.
    pub(super) tensors: Vec<(u64, Strided)>,
    pub(super) end: u64,
}

/// Elements of a tensor: the first index and the number of indices along each axis.
type Part = Vec<(u64, u64)>;

impl Strided {
    /// Returns the size of the elements in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.sizes.iter().product::<u64>() * self.width as u64
    }

    /// Returns the longest part of at most `most` elements that begins with the element `first`, and its number of
    /// elements.
    fn part(&self, first: u64, most: u64) -> (Part, u64) {
        // The part has all indices of the axes from `axis` on.
        let (mut axis, mut block) = (self.sizes.len(), 1);
        while axis > 0
            && first.is_multiple_of(block * self.sizes[axis - 1])
            && block * self.sizes[axis - 1] <= most
        {
            axis -= 1;
            block *= self.sizes[axis];
        }
        let mut part: Part = self.sizes.iter().map(|size| (0, *size)).collect();
        let (mut number, mut count) = (first / block, block);
        for at in (0..axis).rev() {
            let index = number % self.sizes[at];
            number /= self.sizes[at];
            let is_last = at + 1 == axis;
            let taken = if is_last { (most / block).min(self.sizes[at] - index) } else { 1 };
            part[at] = (index, taken);
            count *= taken;
        }
        (part, count)
    }

    /// Returns the number of elements before this index in row-major order, and the offset of the element in the file.
    fn find(&self, index: impl Iterator<Item = u64>) -> (u64, u64) {
        let axes = index.zip(self.sizes.iter().zip(&self.strides));
        axes.fold((0, self.begin), |(number, at), (index, (size, stride))| {
            (number * size + index, at + index * stride)
        })
    }

    /// Reads a part into `out`, which begins with the element `first`.
    fn read(&self, file: &dyn Blob, part: &Part, first: u64, out: &mut [u8]) -> io::Result<()> {
        let strides = part.iter().zip(&self.strides);
        let span = strides.map(|((_, count), stride)| (count - 1) * stride).sum::<u64>()
            + self.width as u64;
        let needed = part.iter().map(|(_, count)| count).product::<u64>() * self.width as u64;
        let is_dense = span <= MOST_SPAN && needed.saturating_mul(LEAST_PART) >= span;
        let longest =
            (0..part.len()).filter(|axis| part[*axis].1 > 1).max_by_key(|axis| self.strides[*axis]);
        if let Some(axis) = longest.filter(|_| span > SHORT_SPAN && !is_dense) {
            let (begin, count) = part[axis];
            for (begin, count) in [(begin, count / 2), (begin + count / 2, count - count / 2)] {
                let mut half = part.clone();
                half[axis] = (begin, count);
                self.read(file, &half, first, out)?;
            }
            return Ok(());
        }
        let (_, begin) = self.find(part.iter().map(|(begin, _)| *begin));
        let mut bytes = vec![0; span as usize];
        file.read_exact_at(&mut bytes, begin)?;
        let mut index: Vec<u64> = part.iter().map(|(begin, _)| *begin).collect();
        // A row has all elements of the part along the last axis.
        let rows = part.len().saturating_sub(1);
        let count = part.last().map_or(1, |(_, count)| *count as usize);
        let stride = self.strides.last().map_or(0, |stride| *stride as usize);
        loop {
            let (number, at) = self.find(index.iter().copied());
            let (to, from) = ((number - first) as usize * self.width, (at - begin) as usize);
            let row = &mut out[to..to + count * self.width];
            copy_row(&bytes[from..], stride, row, self.width);
            let next =
                (0..rows).rev().find(|axis| index[*axis] + 1 < part[*axis].0 + part[*axis].1);
            let Some(axis) = next else { return Ok(()) };
            index[axis] += 1;
            (axis + 1..rows).for_each(|axis| index[axis] = part[axis].0);
        }
    }

    /// Fills a part of `buffer` with elements from byte `offset` on, and returns the number of bytes.
    fn read_at(&self, file: &dyn Blob, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (first, before) = (offset / self.width as u64, (offset % self.width as u64) as usize);
        let most = buffer.len().min(MOST_BYTES) / self.width;
        if before > 0 || most == 0 {
            let mut element = vec![0; self.width];
            self.read(file, &self.part(first, 1).0, first, &mut element)?;
            let bytes = buffer.len().min(self.width - before);
            buffer[..bytes].copy_from_slice(&element[before..][..bytes]);
            return Ok(bytes);
        }
        let (part, count) = self.part(first, most as u64);
        let bytes = count as usize * self.width;
        self.read(file, &part, first, &mut buffer[..bytes])?;
        Ok(bytes)
    }
}

/// Fills `row` with elements of `width` bytes that begin `stride` bytes apart.
fn copy_row(bytes: &[u8], stride: usize, row: &mut [u8], width: usize) {
    if stride == width {
        row.copy_from_slice(&bytes[..row.len()]);
        return;
    }
    for (number, element) in row.chunks_exact_mut(width).enumerate() {
        match element {
            [byte] => *byte = bytes[number * stride],
            _ => element.copy_from_slice(&bytes[number * stride..][..width]),
        }
    }
}

impl Blob for WithStrided {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.end)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if buffer.is_empty() || offset >= self.end {
            return Ok(0);
        }
        if offset < self.file_bytes {
            let left = usize::try_from(self.file_bytes - offset).unwrap_or(usize::MAX);
            let count = buffer.len().min(left);
            return self.file.read_at(&mut buffer[..count], offset);
        }
        let at = self.tensors.partition_point(|(begin, _)| *begin <= offset) - 1;
        let (begin, tensor) = &self.tensors[at];
        tensor.read_at(&*self.file, buffer, offset - begin)
    }

    fn forget(&self, offset: u64, bytes: u64) {
        if offset < self.file_bytes {
            self.file.forget(offset, bytes);
        }
    }

    fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    fn file(&self) -> Option<&File> {
        self.file.file()
    }

    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        self.file.identity()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// The elements of a tensor of two bytes each, one by one.
    fn expected(tensor: &Strided, file: &[u8]) -> Vec<u8> {
        let mut all = vec![tensor.begin];
        for (size, stride) in tensor.sizes.iter().zip(&tensor.strides) {
            all = all.iter().flat_map(|at| (0..*size).map(move |i| at + i * stride)).collect();
        }
        all.iter().flat_map(|at| file[*at as usize..][..2].to_vec()).collect()
    }

    #[test]
    fn any_range_is_read_with_any_strides() {
        let file: Vec<u8> =
            (0..400_000u32).flat_map(|number| (number as u16).to_le_bytes()).collect();
        for (begin, sizes, strides) in [
            (0, vec![4, 2, 3], vec![2, 24, 8]),
            (6, vec![7], vec![6]),
            (2, vec![4, 3], vec![0, 2]),
            (0, vec![5, 2], vec![0, 0]),
            (0, vec![4, 4], vec![4, 2]),
            (8, vec![], vec![]),
            (0, vec![1, 1, 1], vec![900_000, 7, 0]),
            // Spans that are split, along the axis with the greatest stride.
            (2, vec![3, 400], vec![2, 2_000]),
            (0, vec![300, 2, 40], vec![2, 100_000, 600]),
            (0, vec![2, 2], vec![400_000, 300_000]),
        ] {
            let tensor = Strided { begin, width: 2, sizes, strides };
            let expected = expected(&tensor, &file);
            let file_bytes = 10;
            let end = file_bytes + tensor.bytes();
            let all = WithStrided {
                file: Arc::new(Cursor::new(file.clone())),
                file_bytes,
                tensors: vec![(file_bytes, tensor)],
                end,
            };
            let length = expected.len();
            for (from, to) in [
                (0, length),
                (0, 1),
                (1, length.min(9)),
                (length / 3, length),
                (2, length.min(4)),
                (length / 2, length - 1),
            ] {
                let mut found = vec![0; to.saturating_sub(from)];
                all.read_exact_at(&mut found, 10 + from as u64).unwrap();
                assert!(found == expected[from.min(to)..to], "{from} to {to} of {all:?}");
            }
            assert_eq!(all.read_at(&mut [0; 4], all.end).unwrap(), 0);
            let mut first = [0; 4];
            all.read_exact_at(&mut first, 8).unwrap();
            assert_eq!(first[..2], file[8..10]);
        }
    }
}
