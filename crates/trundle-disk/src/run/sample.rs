//! Loads a sample of a tensor's elements into memory.

use std::io;
use std::sync::{Mutex, PoisonError};

use trundle::ops::Slice;
use trundle::{Chain, Width};
use trundle_formats::{Blob, Order, TensorFile, lock};

use crate::error::Error;
use crate::plan::input::JobInput;
use crate::plan::job::{Cost, Job, PlanOptions};
use crate::run::comparison::{check_temporary, run};
use crate::run::context::{Observer, Source};

/// The most step lengths that are tried to find a divisor of the chunk size.
const MOST_TRIED: usize = 1 << 12;

/// Evenly spaced indices along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first index.
    pub start: usize,
    /// The distance between two indices.
    pub step: usize,
    /// The number of indices, at least one.
    pub count: usize,
}

impl Steps {
    /// Returns a single index.
    pub fn one(index: usize) -> Steps {
        Steps { start: index, step: 1, count: 1 }
    }

    /// Returns at most `most` indices spread evenly over an axis of `size` (not 0): the centres of equal parts.
    ///
    /// A step longer than `chunk` is a multiple of it. A shorter one divides it if there is a divisor nearby. Then the
    /// sample has the same positions in each chunk, and one pass can load it.
    pub fn spread(size: usize, most: usize, chunk: usize) -> Steps {
        let least = size.div_ceil(most.max(1));
        let step = match least > chunk {
            true => least.checked_next_multiple_of(chunk),
            false => (least..=2 * least).take(MOST_TRIED).find(|step| chunk.is_multiple_of(*step)),
        };
        let step = step.unwrap_or(least);
        let start = (step / 2).min(size - 1);
        Steps { start, step, count: (size - start).div_ceil(step) }
    }

    fn last(self) -> usize {
        self.start + (self.count - 1) * self.step
    }
}

/// A sample of a tensor: the elements at evenly spaced indices along each axis.
#[derive(Debug)]
pub struct Sample {
    job: Job,
    chunk_bytes: Option<u64>,
    picked: Picked,
}

impl Sample {
    /// Plans to load the elements at `steps`, which must be within the tensor's axes. The options must count the bytes
    /// of the sample as held.
    ///
    /// # Errors
    /// [`Error`] if the memory is not enough.
    ///
    /// # Panics
    /// If the file has no tensor with this index, or if the number of steps is not the number of axes.
    pub fn new(
        file: &TensorFile,
        tensor: usize,
        steps: &[Steps],
        options: &PlanOptions,
    ) -> Result<Sample, Error> {
        let header = &file.headers()[tensor];
        let width = header.element.width();
        // If the sample has different positions in each chunk, this step would need a pass that unpacks all chunks. The
        // job reads these chunks anyway, so it moves all of their elements, and `Picked` keeps some.
        let step_of_job = |axis: usize| match (&header.chunk, width) {
            (Some(chunk), Width::Bytes(_))
                if !chunk[axis].is_multiple_of(steps[axis].step)
                    && !steps[axis].step.is_multiple_of(chunk[axis]) =>
            {
                1
            }
            _ => steps[axis].step,
        };
        let number = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
        let (mut slice, mut moved) = ([const { Vec::new() }; 4], Vec::new());
        for (axis, each) in steps.iter().enumerate() {
            let step = step_of_job(axis);
            let of_axis = [each.start, each.last() + 1, axis, step];
            slice.iter_mut().zip(of_axis).for_each(|(all, of_axis)| all.push(number(of_axis)));
            moved.push(match step == each.step {
                true => (each.count, 1),
                false => (each.last() + 1 - each.start, each.step),
            });
        }
        let [starts, stops, axes, slice_steps] = &slice;
        let chain = Chain::new().then(Slice::new(starts, stops, axes, slice_steps));
        let mut job = Job::in_order(file, tensor, &chain, Order::RowMajor, options)?;
        for input in &mut job.inputs {
            // Verifying the file's checksum would read the whole file.
            if let JobInput::Tensor(tensor) = input {
                tensor.is_checked = false;
            }
        }
        let chunk = header.chunk.as_ref().map(|chunk| chunk.iter().product::<usize>());
        let chunk_bytes = chunk.map(|elements| width.bytes(elements * width.units()).max(1) as u64);
        Ok(Sample { job, chunk_bytes, picked: Picked::new(width, moved) })
    }

    /// Returns the estimated cost of loading the sample.
    pub fn cost(&self) -> Cost {
        self.job.cost()
    }

    /// Returns the number of requests. Each chunk takes one, even if a contiguous range spans several.
    pub fn requests(&self) -> u64 {
        let Cost { reads, bytes_read, .. } = self.cost();
        self.chunk_bytes.map_or(reads, |bytes| reads.max(bytes_read / bytes))
    }

    /// Loads the elements in row-major order.
    ///
    /// # Errors
    /// [`Error`] if the source cannot be read, or memory cannot be allocated.
    pub fn load(self, source: &mut Source<'_>, observer: &dyn Observer) -> Result<Vec<u8>, Error> {
        let Sample { job, picked, .. } = self;
        check_temporary(job.cost().temporary_bytes)?;
        picked.reserve().map_err(|bytes| {
            Error::file(source.path, trundle_formats::Problem::NoMemory { bytes })
        })?;
        run(&job, source, &picked, "reading", observer)?;
        Ok(picked.bytes.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A destination for a job that keeps only the elements at some steps.
#[derive(Debug)]
struct Picked {
    /// The bytes of a run, which is kept or dropped as a whole.
    run_bytes: usize,
    /// The axes outside of a run: the size, and the step between kept indices.
    axes: Vec<(usize, usize)>,
    bytes: Mutex<Vec<u8>>,
}

impl Picked {
    /// Makes the destination for axes with these sizes and steps. Packed elements must all be kept.
    fn new(width: Width, mut axes: Vec<(usize, usize)>) -> Picked {
        let mut elements = 1;
        while let Some((size, _)) = axes.pop_if(|(_, step)| *step == 1) {
            elements *= size;
        }
        let run_bytes = width.bytes(elements * width.units());
        Picked { run_bytes, axes, bytes: Mutex::default() }
    }

    /// Allocates the memory for all kept elements.
    ///
    /// # Errors
    /// Returns the number of bytes if they cannot be allocated.
    fn reserve(&self) -> Result<(), usize> {
        let kept = self.axes.iter().map(|(size, step)| size.div_ceil(*step));
        let bytes = kept.fold(self.run_bytes, usize::saturating_mul);
        let mut kept = lock(&self.bytes);
        kept.try_reserve_exact(bytes).map_err(|_| bytes)?;
        kept.resize(bytes, 0);
        Ok(())
    }

    /// Returns the position of a kept run, or the number of runs to drop from this one on.
    fn position(&self, run: usize) -> Result<usize, usize> {
        let (mut rest, mut position, mut distance) = (run, 0, self.run_bytes);
        // The number of runs for each index of the current axis.
        let mut runs = 1;
        for (size, step) in self.axes.iter().rev() {
            let index = rest % size;
            if index % step != 0 {
                let next = index.next_multiple_of(*step).min(*size);
                return Err((next - index) * runs - run % runs);
            }
            position += index / step * distance;
            distance *= size.div_ceil(*step);
            (rest, runs) = (rest / size, runs * size);
        }
        Ok(position)
    }
}

impl Blob for Picked {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.axes.iter().map(|(size, _)| *size).fold(self.run_bytes, usize::saturating_mul)
            as u64)
    }

    /// Reads kept bytes: if the job writes only some packed elements of a byte, it first reads the byte.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if !self.axes.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let kept = lock(&self.bytes);
        io::Cursor::new(&*kept).read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut kept = lock(&self.bytes);
        let (mut at, mut left) = (offset as usize, bytes);
        while !left.is_empty() {
            let within = at % self.run_bytes;
            let (run, count) = match self.position(at / self.run_bytes) {
                Ok(position) => (Some(position + within), self.run_bytes - within),
                Err(runs) => (None, (runs * self.run_bytes).saturating_sub(within)),
            };
            let (piece, rest) = left.split_at(count.min(left.len()));
            if let Some(position) = run {
                let to = kept.get_mut(position..position + piece.len());
                to.ok_or(io::ErrorKind::WriteZero)?.copy_from_slice(piece);
            }
            at += piece.len();
            left = rest;
        }
        Ok(bytes.len())
    }

    fn resize(&self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_spread_evenly() {
        let spread = |size, most, chunk| {
            let Steps { start, step, count } = Steps::spread(size, most, chunk);
            assert!(start + (count - 1) * step < size && count <= most.max(1));
            (start, step, count)
        };
        assert_eq!(spread(90, 10, 1), (4, 9, 10));
        assert_eq!(spread(90, 90, 1), (0, 1, 90));
        assert_eq!(spread(91, 10, 1), (5, 10, 9));
        assert_eq!(spread(90, 10, 101), (4, 9, 10));
        assert_eq!(spread(90, 10, 100), (5, 10, 9));
        assert_eq!(spread(90, 10, 4), (6, 12, 7));
        assert_eq!(spread(1 << 40, 512, 5).1 % 5, 0);
        assert_eq!(spread(5, 0, 1), (2, 5, 1));
        for (size, most) in (1..40).flat_map(|size| (1..40).map(move |most| (size, most))) {
            for chunk in 1..9 {
                spread(size, most, chunk);
            }
        }
    }

    #[test]
    fn pieces_of_any_length_pick_the_same_elements() {
        let written: Vec<u8> = (0..5 * 7 * 4).collect();
        for axes in [[(5, 1), (7, 1), (4, 1)], [(5, 2), (7, 3), (4, 1)], [(5, 1), (7, 2), (4, 3)]] {
            let taken = |axis: usize| (0..axes[axis].0).step_by(axes[axis].1);
            let index = |i: usize, j: usize, k: usize| ((i * 7 + j) * 4 + k) as u8;
            let expected: Vec<u8> = taken(0)
                .flat_map(|i| taken(1).map(move |j| (i, j)))
                .flat_map(|(i, j)| taken(2).map(move |k| index(i, j, k)))
                .collect();
            for piece in [1, 3, 16, 140] {
                let picked = Picked::new(Width::Bytes(1), axes.to_vec());
                picked.reserve().unwrap();
                for (number, bytes) in written.chunks(piece).enumerate().rev() {
                    picked.write_all_at(bytes, (number * piece) as u64).unwrap();
                }
                assert_eq!(picked.bytes.into_inner().unwrap(), expected, "{axes:?} {piece}");
            }
        }
    }
}
