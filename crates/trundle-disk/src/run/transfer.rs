//! Transfers elements between files and memory by concurrent requests.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::thread::Builder;

use trundle::{Packing, Width};
use trundle_formats::{Blob, lock};

use crate::plan::location::{Runs, file_bytes, unit};
use crate::together::together;

const REQUEST_BYTES: usize = 4 << 20;

/// The elements of the largest request for sub-byte elements, which take one byte each in memory because they are
/// repacked.
const PACKED_REQUEST: usize = 128 << 10;

/// Requests for sub-byte elements are cut at multiples of this, which are whole bytes in every packing.
const PACKED_MULTIPLE: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub(crate) blob: &'a dyn Blob,
    pub(crate) offset: u64,
    pub(crate) width: Width,
    pub(crate) forget: bool,
    /// The index of the job's source file; `None` for files that the job itself wrote.
    pub(crate) source: Option<usize>,
}

/// A request for one run (a contiguous range of elements in the file), a part of it, or several short runs, with
/// contiguous memory for them. Sub-byte elements take one byte each in memory.
pub(crate) struct Request<'a, M> {
    data: Data<'a>,
    runs: Runs,
    which: Range<usize>,
    /// The elements of each run.
    within: Range<usize>,
    memory: M,
}

pub(crate) trait Splittable: Sized + Send {
    fn cut(self, at: usize) -> (Self, Self);
}

impl Splittable for &[u8] {
    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl Splittable for &mut [u8] {
    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// Splits `runs` of a tensor into requests, and `memory` of the same length with them.
pub(crate) fn requests<'a, M: Splittable>(
    data: Data<'a>,
    runs: &Runs,
    mut memory: M,
    requests: &mut Vec<Request<'a, M>>,
) {
    let unit = unit(data.width);
    let most = match data.width {
        _ if data.blob.takes_whole() => usize::MAX,
        Width::Bytes(_) => (REQUEST_BYTES / unit.max(1)).max(1),
        Width::SubByte(_) => PACKED_REQUEST,
    };
    if runs.len == 0 || unit == 0 {
        return;
    }
    let mut add = |which: Range<usize>, within: Range<usize>, memory: M| {
        requests.push(Request { data, runs: runs.clone(), which, within, memory });
    };
    let count = runs.count();
    let together = most / runs.len;
    let mut index = 0;
    while index < count {
        if together > 0 {
            let end = count.min(index + together);
            let (own, rest) = memory.cut((end - index) * runs.len * unit);
            add(index..end, 0..runs.len, own);
            (memory, index) = (rest, end);
            continue;
        }
        let mut at = 0;
        while at < runs.len {
            let uneven = (runs.start(index) + at) % PACKED_MULTIPLE;
            let end = runs.len.min(at + most - if most > uneven { uneven } else { 0 });
            let (own, rest) = memory.cut((end - at) * unit);
            add(index..index + 1, at..end, own);
            (memory, at) = (rest, end);
        }
        index += 1;
    }
}

impl<M> Request<'_, M> {
    /// Returns the position of the first element of each run, and the bytes of a run in memory.
    fn starts(&self) -> (impl Iterator<Item = usize> + use<'_, M>, usize) {
        let starts = self.which.clone().map(|index| self.runs.start(index) + self.within.start);
        (starts, self.within.len() * unit(self.data.width))
    }

    fn bytes_of(&self, first: usize) -> (u64, usize) {
        let width = self.data.width;
        let bytes = |elements: usize| file_bytes(width, elements);
        let begin = match width {
            Width::Bytes(_) => bytes(first),
            Width::SubByte(packing) => bytes(first / packing.group() * packing.group()),
        };
        (self.data.offset + begin as u64, bytes(first + self.within.len()) - begin)
    }

    fn forget(&self) {
        if !self.data.forget {
            return;
        }
        for first in self.starts().0 {
            let (at, bytes) = self.bytes_of(first);
            self.data.blob.forget(at, bytes as u64);
        }
    }
}

impl Request<'_, &mut [u8]> {
    fn read(mut self) -> io::Result<u64> {
        let memory = std::mem::take(&mut self.memory);
        let (starts, length) = self.starts();
        let mut scratch = Vec::new();
        for (first, memory) in starts.zip(memory.chunks_exact_mut(length)) {
            let (at, bytes) = self.bytes_of(first);
            match self.data.width {
                Width::Bytes(_) => self.data.blob.read_exact_at(memory, at)?,
                Width::SubByte(packing) => {
                    scratch.resize(bytes, 0);
                    self.data.blob.read_exact_at(&mut scratch, at)?;
                    let begin = first % packing.group();
                    for (index, code) in memory.iter_mut().enumerate() {
                        *code = packing.get(&scratch, begin + index);
                    }
                }
            }
        }
        self.forget();
        Ok(memory.len() as u64)
    }
}

impl Request<'_, &[u8]> {
    /// Writes the elements. The lock `shared` protects bytes that contain elements of two requests.
    fn write(self, shared: &Mutex<()>) -> io::Result<u64> {
        let (starts, length) = self.starts();
        let mut scratch = Vec::new();
        for (first, memory) in starts.zip(self.memory.chunks_exact(length)) {
            let (at, bytes) = self.bytes_of(first);
            match self.data.width {
                Width::Bytes(_) => self.data.blob.write_all_at(memory, at)?,
                Width::SubByte(packing) => {
                    scratch.resize(bytes, 0);
                    self.write_packed(packing, first, memory, &mut scratch, shared)?;
                }
            }
        }
        self.forget();
        Ok(self.memory.len() as u64)
    }

    fn write_packed(
        &self,
        packing: Packing,
        first: usize,
        codes: &[u8],
        scratch: &mut [u8],
        shared: &Mutex<()>,
    ) -> io::Result<()> {
        let (at, _) = self.bytes_of(first);
        let begin = first % packing.group();
        let is_shared = begin > 0 || !(first + codes.len()).is_multiple_of(packing.group());
        let _held = is_shared.then(|| lock(shared));
        if is_shared {
            self.data.blob.read_exact_at(scratch, at)?;
        }
        for (index, code) in codes.iter().enumerate() {
            packing.set(scratch, begin + index, *code);
        }
        self.data.blob.write_all_at(scratch, at)
    }
}

pub(crate) struct Transfer<'a> {
    pub(crate) reads: Vec<Request<'a, &'a mut [u8]>>,
    pub(crate) writes: Vec<Request<'a, &'a [u8]>>,
}

#[derive(Debug)]
pub(crate) enum Fault {
    Stopped,
    /// A read failed. The index counts the job's source files; `None` for another file.
    Reading(Option<usize>, io::Error),
    Writing(io::Error),
}

/// Carries out requests with this many threads, and calls `advance` with the bytes of each. No request begins after an
/// error or a stop. The error contains the index of the job's source file, if it is one.
fn carry_out<'a, M: Send>(
    requests: &Mutex<std::vec::IntoIter<Request<'a, M>>>,
    threads: usize,
    take: impl Fn(Request<'a, M>) -> io::Result<u64> + Sync,
    advance: &(dyn Fn(u64) + Sync),
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<(), (Option<usize>, io::Error)> {
    let work = || {
        loop {
            let request = lock(requests).next();
            let Some(request) = request.filter(|_| !is_stopped()) else { return Ok(()) };
            let source = request.data.source;
            let bytes = take(request).map_err(|error| {
                *lock(requests) = Vec::new().into_iter();
                (source, error)
            })?;
            advance(bytes);
        }
    };
    together(threads, work)
}

impl Transfer<'_> {
    /// Runs the transfer with up to this many concurrent reads and writes. Calls `written` with the bytes in memory of
    /// each completed write. No request begins after `is_stopped` has returned true.
    pub(crate) fn run(
        self,
        (readers, writers): (usize, usize),
        written: &(dyn Fn(u64) + Sync),
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Fault> {
        let shared = Mutex::new(());
        let (readers, writers) =
            (self.reads.len().min(readers.max(1)), self.writes.len().min(writers.max(1)));
        let (reads, writes) =
            (Mutex::new(self.reads.into_iter()), Mutex::new(self.writes.into_iter()));
        let write =
            || carry_out(&writes, writers, |request| request.write(&shared), written, is_stopped);
        let read = || carry_out(&reads, readers, Request::read, &|_| (), is_stopped);
        let (write, read) = if readers + writers <= 2 || readers == 0 || writers == 0 {
            (write(), read())
        } else {
            std::thread::scope(|scope| {
                let writing = Builder::new().spawn_scoped(scope, write).ok();
                let read = read();
                // If no thread could be started, this thread writes too.
                let write = writing.map_or_else(write, |thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                });
                (write, read)
            })
        };
        match (read, write) {
            (_, Err((_, error))) => Err(Fault::Writing(error)),
            (Err((source, error)), Ok(())) => Err(Fault::Reading(source, error)),
            (Ok(()), Ok(())) if is_stopped() => Err(Fault::Stopped),
            (Ok(()), Ok(())) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use trundle::{BitOrder, DType};

    use super::*;
    use crate::plan::location::Location;
    use crate::run::faulty_store::{Faults, FaultyBlob};

    /// Returns runs of one element at every eighth position, from position `first` on.
    fn every_eighth(first: usize, count: usize) -> Runs {
        Location::row_major(&[count, 8]).runs(&[0..count, first..first + 1])
    }

    fn data(blob: &FaultyBlob) -> Data<'_> {
        Data { blob, offset: 0, width: Width::Bytes(1), forget: false, source: None }
    }

    #[test]
    fn threads_that_write_the_same_bytes_lose_no_element() {
        const COUNT: usize = 2000;
        let width = trundle_formats::StoredDType::new(DType::U1)
            .with_bit_order(BitOrder::LowFirst)
            .unwrap()
            .width();
        let ones = vec![1; COUNT];
        for _ in 0..10 {
            let file = FaultyBlob::new(&[0; COUNT], Faults::default());
            let request = |first: usize| Request {
                data: Data { width, ..data(&file) },
                runs: every_eighth(first, COUNT),
                which: 0..COUNT,
                within: 0..1,
                memory: &ones[..],
            };
            let transfer = Transfer { reads: Vec::new(), writes: (0..8).map(request).collect() };
            transfer.run((8, 8), &|_| (), &|| false).unwrap();
            assert!(file.all().iter().all(|byte| *byte == 0xff));
        }
    }

    #[test]
    fn the_first_error_of_each_direction_ends_the_transfer() {
        let run = |reads: usize, writes: usize, several: usize| {
            let from =
                FaultyBlob::new(&[7; 100], Faults { reads: reads.into(), ..Faults::default() });
            let to = FaultyBlob::new(&[], Faults { changes: writes.into(), ..Faults::default() });
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let (mut memory, bytes) = (vec![0; 20 * several], vec![1; 20 * several]);
            for (own, out) in memory.chunks_mut(20).zip(bytes.chunks(20)) {
                requests(data(&from), &Runs::all(20), own, &mut reads);
                requests(data(&to), &Runs::all(20), out, &mut writes);
            }
            Transfer { reads, writes }.run((4, 4), &|_| (), &|| false)
        };
        for several in [1, 5] {
            for before in 0..several {
                let refused = run(before, before, several);
                assert!(matches!(refused, Err(Fault::Writing(_))), "{refused:?}");
                let refused = run(before, several, several);
                assert!(matches!(refused, Err(Fault::Reading(None, _))), "{refused:?}");
            }
            let done = run(several, several, several);
            assert!(done.is_ok(), "{done:?}");
        }
    }

    #[test]
    fn a_stopped_transfer_begins_no_more_requests() {
        for in_flight in [(1, 1), (4, 4)] {
            let (to, bytes, mut writes) =
                (FaultyBlob::new(&[], Faults::default()), [1; 100], Vec::new());
            bytes.chunks(10).for_each(|out| requests(data(&to), &Runs::all(10), out, &mut writes));
            let written = AtomicU64::new(0);
            let add = |bytes| _ = written.fetch_add(bytes, Ordering::Relaxed);
            let is_stopped = || written.load(Ordering::Relaxed) >= 30;
            let ended = Transfer { reads: Vec::new(), writes }.run(in_flight, &add, &is_stopped);
            assert!(matches!(ended, Err(Fault::Stopped)), "{ended:?}");
            assert!(written.into_inner() < 30 + 10 * in_flight.1 as u64);
        }
    }
}
