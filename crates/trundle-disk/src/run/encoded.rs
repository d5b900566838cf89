//! Copies encoded chunks from one Zarr store to another.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};

use trundle_formats::{ChunkedTensor, EncodedChunk, Shown, UndecodedTensor, lock};

use crate::error::{Error, Problem, reading};
use crate::plan::encoded::UNDECODED_CHUNK_BYTES;
use crate::plan::input::JobTensor;
use crate::plan::job::PlanOptions;
use crate::run::context::{Context, Source, SourceFile};
use crate::run::executor::Executor;
use crate::together::together;

/// The bytes of two chunks that are compared at once.
const COMPARED_BYTES: u64 = 64 << 10;

impl Executor<'_> {
    /// Copies encoded chunks of a tensor (default: all) with several threads. Chunks that do not exist in the source
    /// are not written. With `verify`, chunks that cannot be decoded are then read back and compared. Chunks of a tensor
    /// that exists in the output are only compared.
    pub(super) fn copy_encoded(
        &self,
        tensor: usize,
        sources: &[SourceFile<'_>],
        some: Option<Range<usize>>,
    ) -> Result<(), Error> {
        let Context { job, target, path, options, .. } = self.context;
        let (to, of) = (job.skeleton.data_offsets()[tensor], &job.tensors[tensor]);
        let is_there = of.chunked().is_some_and(|chunked| chunked.place().is_some());
        if !is_there {
            self.each_encoded(tensor, sources, ("copying", some.clone()), |chunk, index| {
                let Some(chunk) = chunk else { return Ok(()) };
                let copied = target.write_encoded_chunk(to, index, chunk);
                copied.map_err(|error| self.context.writing(error))
            })?;
        }
        if !(options.verify || is_there) || !of.is_undecoded() {
            return Ok(());
        }
        target.sync().map_err(|error| self.context.writing(error))?;
        self.each_encoded(tensor, sources, ("verifying", some), |chunk, index| {
            let written = target.encoded_chunk(to, index).map_err(reading(path))?;
            let name = Shown(of.name());
            match (is_same(chunk, written).map_err(reading(path))?, is_there) {
                (true, _) => Ok(()),
                (false, true) => {
                    let what = format!(
                        "\"{name}\" differs from the array in the store, or is stored differently"
                    );
                    Err(self.context.writing(io::Error::new(io::ErrorKind::InvalidData, what)))
                }
                (false, false) => {
                    let what = format!("the output of \"{name}\" differs from its input");
                    Err(Error::of(path.display(), Problem::Different(what)))
                }
            }
        })
    }

    /// Calls `work` for encoded chunks of a tensor (default: all) with several threads, in a progress phase. `work`
    /// takes a chunk of the source, if it exists, and the index of the chunk in the output.
    fn each_encoded(
        &self,
        tensor: usize,
        sources: &[SourceFile<'_>],
        (phase, some): (&str, Option<Range<usize>>),
        work: impl Fn(Option<EncodedChunk>, &[usize]) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let Context { job, target, observer, .. } = self.context;
        let of = &job.tensors[tensor];
        let Some(chunks) = of.encoded() else { return Ok(()) };
        let Some(input) = of.inputs.first().and_then(|input| job.inputs[*input].tensor()) else {
            return Ok(());
        };
        let (source, path) = (sources[input.file].seekable()?, sources[input.file].path);
        let from = input.header.data_offset.unwrap_or(0);
        let (count, bytes) = (chunks.count(), of.units());
        let some = some.unwrap_or(0..count);
        // For the progress, each chunk counts as an equal share of the tensor's bytes.
        let share = |number: usize| (u128::from(bytes) * number as u128 / count as u128) as u64;
        let bytes = |chunks: Range<usize>| share(chunks.end) - share(chunks.start);
        observer.phase(phase, if count == 0 { 0 } else { bytes(some.clone()) });
        // The sizes of stored chunks are known only when they are copied.
        let at_once = match of.is_undecoded() {
            true => UNDECODED_CHUNK_BYTES as usize,
            false => of.chunked().map_or(0, ChunkedTensor::bytes_at_once),
        };
        let most = job.rates.storage.in_flight.min(some.len()).min(job.budget / at_once.max(1));
        let threads = most.max(1);
        let (next, memory) = (Mutex::new(some), Memory::new(job.memory as u64));
        let each = || -> Result<(), Error> {
            loop {
                let number = lock(&next).next();
                let Some(number) = number else { return Ok(()) };
                let (read, written) = chunks.pair(number);
                let chunk = source.encoded_chunk(from, &read).map_err(reading(path))?;
                let held = match &chunk {
                    Some(chunk) if of.is_undecoded() => {
                        held_bytes(chunk, target.is_remote()).map_err(reading(path))?
                    }
                    _ => 0,
                };
                let _held = memory.take(held).map_err(|error| error.within(chunk_of(of.name())))?;
                work(chunk, &written)?;
                observer.advance(bytes(number..number + 1));
                self.check_stopped()?;
            }
        };
        together(threads, each)
    }
}

/// The memory that threads share for chunks of any size.
struct Memory {
    all: u64,
    free: Mutex<u64>,
    freed: Condvar,
}

struct Held<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Memory {
    fn new(all: u64) -> Memory {
        Memory { all, free: Mutex::new(all), freed: Condvar::new() }
    }

    /// Waits until so many bytes are free, and holds them.
    ///
    /// # Errors
    /// [`Problem::Memory`] if they exceed all of the memory.
    fn take(&self, bytes: u64) -> Result<Held<'_>, Error> {
        if bytes > self.all {
            return Err(Error::from(Problem::Memory { needed: bytes, limit: self.all }));
        }
        let free = self.freed.wait_while(lock(&self.free), |free| *free < bytes);
        *free.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Ok(Held { memory: self, bytes })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *lock(&self.memory.free) += self.bytes;
        self.memory.freed.notify_all();
    }
}

/// Returns the memory in bytes that a chunk takes while it is copied or compared: its size for each side that is in a
/// remote store. Files are copied in parts.
fn held_bytes(chunk: &EncodedChunk, is_other_remote: bool) -> io::Result<u64> {
    let is_held = !matches!(chunk, EncodedChunk::File(_));
    Ok(chunk.bytes()?.saturating_mul(u64::from(is_held) + u64::from(is_other_remote)))
}

/// Returns the subject of an error about a chunk.
fn chunk_of(name: &str) -> String {
    format!("a chunk of \"{name}\", which goes through memory")
}

/// Returns whether tensors of two files that are copied without decoding have the same metadata and the same chunks.
///
/// # Errors
/// [`Error`] if a chunk cannot be read, or two chunks exceed the memory.
///
/// # Panics
/// If a file has no such tensor.
pub fn are_undecoded_alike(
    sources: [&Source<'_>; 2],
    tensors: [usize; 2],
    options: &PlanOptions,
) -> Result<bool, Error> {
    let [one, other] = [0, 1].map(|side| &sources[side].file.undecoded()[tensors[side]]);
    if !one.is_described_as(other) {
        return Ok(false);
    }
    let (grid, memory) =
        (JobTensor::undecoded(one)?.header.shape, Memory::new(options.budget() as u64));
    let within = |error: Error| error.within(chunk_of(&one.header.name));
    for number in 0..grid.elements() {
        let index = grid.unravel(number);
        let chunk = |side: usize, tensor: &UndecodedTensor| {
            let (file, offset) = (sources[side].file(), tensor.header.data_offset.unwrap_or(0));
            file.seekable()?.encoded_chunk(offset, &index).map_err(reading(file.path))
        };
        let (own, others) = (chunk(0, one)?, chunk(1, other)?);
        let is_remote = matches!(&others, Some(chunk) if !matches!(chunk, EncodedChunk::File(_)));
        let held = own.as_ref().map_or(Ok(0), |chunk| held_bytes(chunk, is_remote));
        let _held = memory.take(held.map_err(reading(sources[0].path))?).map_err(within)?;
        if !is_same(own, others).map_err(reading(sources[1].path))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether both chunks have the same bytes, or neither exists.
fn is_same(one: Option<EncodedChunk>, other: Option<EncodedChunk>) -> io::Result<bool> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return Ok(one.is_none() && other.is_none()),
    };
    // A chunk of another size is not read, because it may not fit in memory.
    if one.bytes()? != other.bytes()? {
        return Ok(false);
    }
    let (mut one, mut other) = (one.reader()?, other.reader()?);
    let (mut own, mut others) = (Vec::new(), Vec::new());
    loop {
        for (reader, part) in [(&mut one, &mut own), (&mut other, &mut others)] {
            part.clear();
            reader.take(COMPARED_BYTES).read_to_end(part)?;
        }
        if own != others || own.is_empty() {
            return Ok(own == others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_wait_for_memory_and_larger_ones_are_refused() {
        let (memory, in_use) = (Memory::new(10), Mutex::new(0));
        let sizes = Mutex::new([7, 3, 10, 0, 4, 6, 1].repeat(50).into_iter());
        let each = || -> Result<(), Error> {
            loop {
                let Some(bytes) = lock(&sizes).next() else { return Ok(()) };
                let _own = memory.take(bytes)?;
                *lock(&in_use) += bytes;
                assert!(*lock(&in_use) <= 10);
                std::thread::yield_now();
                *lock(&in_use) -= bytes;
            }
        };
        together(4, each).unwrap();
        let refused = memory.take(11).err().unwrap();
        assert!(matches!(*refused.problem, Problem::Memory { needed: 11, limit: 10 }));
        // A chunk in memory counts, and once more if the other store is remote.
        let chunk = EncodedChunk::Bytes(vec![0; 5]);
        assert_eq!([false, true].map(|remote| held_bytes(&chunk, remote).unwrap()), [5, 10]);
    }

    #[test]
    fn chunks_are_equal_if_all_bytes_are_equal() {
        let long: Vec<u8> = (0..3 * COMPARED_BYTES).map(|at| (at % 251) as u8).collect();
        let mut other = long.clone();
        *other.last_mut().unwrap() ^= 1;
        for (one, two, expected) in [
            (None, None, true),
            (None, Some(&[][..]), false),
            (Some(&[][..]), Some(&[][..]), true),
            (Some(&long[..]), Some(&long[..]), true),
            (Some(&long[..]), Some(&other[..]), false),
            (Some(&long[..]), Some(&long[..long.len() - 1]), false),
            (Some(&long[..]), Some(&[][..]), false),
        ] {
            let chunk = |bytes: Option<&[u8]>| bytes.map(|own| EncodedChunk::Bytes(own.to_vec()));
            assert_eq!(is_same(chunk(one), chunk(two)).unwrap(), expected);
            assert_eq!(is_same(chunk(two), chunk(one)).unwrap(), expected);
        }
    }
}
