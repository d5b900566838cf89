//! An output read back and compared, independently of how it was moved.
//!
//! Each element of the output is followed back through the operators' index maps, one operator
//! after another: nothing is composed, bound, planned or moved by a kernel.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use trundle::{IndexMap, Layout, Machine, PlanError, Width};
use trundle_formats::{Header, TensorFile};

use crate::failure::Failure;
use crate::operation::Operation;
use crate::progress::Progress;

/// An output opened again, under the name that messages call it by, and which of its tensors.
pub(crate) struct ReadBack<'a> {
    pub(crate) name: &'a Path,
    pub(crate) file: Result<TensorFile, trundle_formats::Error>,
    pub(crate) number: usize,
}

/// That an output has been read back, and each element found to be the one it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verified(());

/// Compares what was read back with the movement of `source`, the data that `header` describes.
///
/// # Errors
/// If it has another shape or type, or an element differs: a message that says which.
pub(crate) fn verify(
    read_back: ReadBack<'_>,
    operation: &Operation,
    header: &Header,
    source: &[u8],
    threads: Option<usize>,
    progress: &Progress,
) -> Result<Verified, Failure> {
    let ReadBack { name, file, number } = read_back;
    let differs =
        |what: String| Failure::running(format!("verification failed: {}: {what}", name.display()));
    let unreadable = |error| Failure::running(format!("verification failed: {error}"));
    let mut file = file.map_err(unreadable)?;
    let written = file
        .headers()
        .get(number)
        .cloned()
        .ok_or_else(|| differs(format!("tensor {number} is missing")))?;
    let maps = operation.chain.steps(&header.shape).map_err(PlanError::from)?;
    let out_shape = maps.last().map_or(&header.shape, IndexMap::out_shape);
    if written.shape != *out_shape || written.element != header.element {
        return Err(differs(format!(
            "holds {} {}, expected {} {out_shape}",
            written.element.name(),
            written.shape,
            header.element.name(),
        )));
    }
    let bytes = file.load(number, &mut |_| ()).map_err(unreadable)?;
    let width = header.element.width();
    let compared = Compared {
        maps,
        src: header.layout()?,
        dst: written.layout()?,
        width,
        source,
        written: &bytes,
        threads: threads.unwrap_or(Machine::detect().threads),
    };
    match compared.first_difference(progress) {
        None => Ok(Verified(())),
        Some(index) => {
            Err(differs(format!("the element at {index:?} is not the one it should be")))
        }
    }
}

struct Compared<'a> {
    maps: Vec<IndexMap>,
    src: Layout,
    dst: Layout,
    width: Width,
    source: &'a [u8],
    written: &'a [u8],
    threads: usize,
}

impl Compared<'_> {
    /// The first index, of those each thread looked at, whose element is not the one it should be.
    fn first_difference(&self, progress: &Progress) -> Option<Vec<usize>> {
        if self.written.is_empty() {
            // Nothing can differ, also in 2^62 elements of an empty type.
            return None;
        }
        let elements = self.dst.shape().elements();
        let share = elements.div_ceil(self.threads).max(1);
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let shares: Vec<_> = (0..elements)
                .step_by(share)
                .map(|first| {
                    let range = first..(first + share).min(elements);
                    let (done, watched) = (&done, (first == 0).then_some(progress));
                    scope.spawn(move || self.difference_in(range, done, watched))
                })
                .collect();
            shares.into_iter().find_map(|share| {
                share.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    /// Compares the elements whose row-major numbers lie in `range`.
    fn difference_in(
        &self,
        range: Range<usize>,
        done: &AtomicU64,
        progress: Option<&Progress>,
    ) -> Option<Vec<usize>> {
        /// Elements between two reports of progress.
        const REPORTED: usize = 1 << 16;
        let sizes = self.dst.shape();
        let mut index = sizes.unravel(range.start);
        let mut ranks: Vec<Vec<usize>> =
            self.maps.iter().map(|map| vec![0; map.in_shape().rank()]).collect();
        for number in range {
            let source = self.source_of(&index, &mut ranks);
            let (from, to) = (self.src.offset_of(source), self.dst.offset_of(&index));
            if !self.is_same(from, to) {
                return Some(index);
            }
            if number % REPORTED == REPORTED - 1 {
                let reported = self.width.bytes(REPORTED * self.width.units()) as u64;
                let so_far = done.fetch_add(reported, Ordering::Relaxed) + reported;
                progress.inspect(|progress| progress.at(so_far));
            }
            sizes.advance(&mut index);
        }
        None
    }

    /// Whether the source has the element at one offset that the output has at the other.
    fn is_same(&self, from: usize, to: usize) -> bool {
        match self.width {
            Width::Bytes(width) => self.source[from..from + width] == self.written[to..to + width],
            Width::Packed(packing) => {
                packing.get(self.source, from) == packing.get(self.written, to)
            }
        }
    }

    /// The source of an output index, through one operator after another.
    fn source_of<'b>(&self, index: &'b [usize], coordinates: &'b mut [Vec<usize>]) -> &'b [usize] {
        for number in (0..self.maps.len()).rev() {
            let (before, after) = coordinates.split_at_mut(number + 1);
            let from = after.first().map_or(index, |coordinates| coordinates);
            self.maps[number].source_into(from, &mut before[number]);
        }
        coordinates.first().map_or(index, |coordinates| coordinates)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use tempfile::TempDir;
    use trundle::ops::{Flip, Transpose};
    use trundle::{Chain, DType, Shape};
    use trundle_formats::{Description, Element, NamedTensor, write};

    use super::*;
    use crate::input::Input;

    /// The elements of a tensor of shape [2, 3, 4].
    fn source() -> Vec<u8> {
        (0..24).collect()
    }

    fn save(path: &Path, dtype: DType, shape: &[usize], bytes: &[u8]) {
        let (element, shape) = (Element::new(dtype), Shape::new(shape).unwrap());
        let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes };
        write(path, &[tensor], true, &mut |_| ()).unwrap();
    }

    /// Axis 2 of the source flipped, then in front, by hand.
    fn expected() -> Vec<u8> {
        let rows = |column: u8| (0..6).map(move |row: u8| row * 4 + 3 - column);
        (0..4).flat_map(rows).collect()
    }

    fn check(folder: &TempDir, write_output: impl FnOnce(&Path)) -> Result<(), String> {
        let place = |name: &str| -> PathBuf { folder.path().join(name) };
        save(&place("in.npy"), DType::U8, &[2, 3, 4], &source());
        write_output(&place("out.npy"));
        let chain = Chain::new().then(Flip::new(&[2])).then(Transpose::new(&[2, 0, 1]));
        let operation = Operation {
            input: Input::described_by_itself(&place("in.npy")),
            chain,
            lengths_bytes: 0,
            written: false,
        };
        let header = operation.input.open().unwrap().headers()[0].clone();
        let progress = Progress::new(true);
        let (name, file) = (place("out.npy"), TensorFile::open(&place("out.npy")));
        let read_back = ReadBack { name: &name, file, number: 0 };
        verify(read_back, &operation, &header, &source(), Some(2), &progress)
            .map(|Verified(())| ())
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn the_right_result_passes_and_each_wrong_element_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = expected();
        assert_eq!(check(&folder, |path| save(path, DType::U8, &[4, 2, 3], &bytes)), Ok(()));
        for number in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[number] ^= 1;
            let found = check(&folder, |path| save(path, DType::U8, &[4, 2, 3], &wrong));
            let index = format!("[{}, {}, {}]", number / 6, number / 3 % 2, number % 3);
            let error = found.unwrap_err();
            assert!(error.contains("code: 1") && error.contains("verification failed"), "{error}");
            assert!(error.contains(&format!("the element at {index} is not")), "{error}");
        }
    }

    #[test]
    fn another_shape_type_or_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = expected();
        let fails = |said: &str, write_output: &dyn Fn(&Path)| {
            let error = check(&folder, write_output).unwrap_err();
            assert!(error.contains("code: 1") && error.contains("verification failed"), "{error}");
            assert!(error.contains(said), "{error}");
        };
        fails("holds u8 [4, 3, 2], expected u8 [4, 2, 3]", &|path| {
            save(path, DType::U8, &[4, 3, 2], &bytes);
        });
        fails("holds i8 [4, 2, 3], expected u8 [4, 2, 3]", &|path| {
            save(path, DType::I8, &[4, 2, 3], &bytes);
        });
        fails("truncated", &|path| {
            save(path, DType::U8, &[4, 2, 3], &bytes);
            fs::File::options().write(true).open(path).unwrap().set_len(130).unwrap();
        });
        fails("not an .npy file", &|path| fs::write(path, "something else").unwrap());
        fails("cannot open", &|path| fs::remove_file(path).unwrap());
    }

    #[test]
    fn every_wrong_bit_of_packed_elements_is_found() {
        let (folder, progress) = (tempfile::tempdir().unwrap(), Progress::new(true));
        let path = folder.path().join("out.bin");
        for dtype in [DType::U1, DType::U3, DType::I4] {
            let (element, shape) = (Element::new(dtype), Shape::new([3, 3]).unwrap());
            let packing = dtype.packing().unwrap();
            let source: Vec<u8> = (0..packing.bytes(9)).map(|n| (n * 89) as u8).collect();
            let mut moved = vec![0; packing.bytes(9)];
            for number in 0..9 {
                packing.set(&mut moved, number, packing.get(&source, number / 3 + number % 3 * 3));
            }
            let check = |bytes: &[u8]| {
                let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes };
                write(&path, &[tensor], true, &mut |_| ()).unwrap();
                let description = Description::of(&element, &shape);
                let open = || TensorFile::open_as(&path, &description);
                let chain = Chain::new().then(Transpose::new(&[]));
                let input = Input::described_by_itself(&path);
                let operation = Operation { input, chain, lengths_bytes: 0, written: false };
                let read_back = ReadBack { name: &path, file: open(), number: 0 };
                let header = open().unwrap().headers()[0].clone();
                verify(read_back, &operation, &header, &source, Some(2), &progress).is_ok()
            };
            assert!(check(&moved), "{dtype}");
            for number in 0..9 {
                for bit in 0..packing.bits() {
                    let mut wrong = moved.clone();
                    packing.set(&mut wrong, number, packing.get(&moved, number) ^ 1 << bit);
                    assert!(!check(&wrong), "{dtype} {number} {bit}");
                }
            }
        }
    }
}
