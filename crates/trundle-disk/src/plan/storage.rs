//! What the files are on: a model of how long requests and bytes take, and a probe of it.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use trundle_formats::Blob;

/// The model of a disk by which passes and tiles are chosen: so many bytes take
/// `bytes / bytes_per_second`, and so many requests `requests · request_seconds / in_flight` on top.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// What it reads or writes in long runs.
    pub bytes_per_second: f64,
    /// What each request costs beside its bytes.
    pub request_seconds: f64,
    /// How many requests it works on at once.
    pub in_flight: usize,
}

/// Bytes of a request of the probe that measures long runs.
const LONG_BYTES: usize = 512 << 10;

/// How many of those, in all rounds together.
const LONG_REQUESTS: u64 = 96;

/// Bytes of a request of the probe that measures what a request costs.
const SHORT_BYTES: usize = 16 << 10;

/// How many of those, in all rounds together.
const SHORT_REQUESTS: u64 = 510;

/// The probe takes the median of so many rounds, since others use the disk too.
const ROUNDS: usize = 3;

/// What requests past the system's cache are aligned to, in memory and in the file.
const ALIGNMENT: usize = 4096;

/// No disk delivers more in a second than four lanes of the fifth generation's bus, nor answers a
/// request sooner. What does was read from memory: the system's, or that of a host below.
const MOST_BYTES_PER_SECOND: f64 = 16e9;
const LEAST_REQUEST_SECONDS: f64 = 10e-6;

/// What takes longer than this is not slow but broken.
const LEAST_BYTES_PER_SECOND: f64 = 1e5;
const MOST_REQUEST_SECONDS: f64 = 10.0;

/// The probe only reads, and half of the bytes of a movement are written. Disks that read faster
/// than this do not write faster for long. A guess, from the data sheets of 2025.
const MOST_WRITTEN_PER_SECOND: f64 = 3e9;

impl Storage {
    /// A local disk without moving parts.
    pub const SSD: Storage =
        Storage { bytes_per_second: 1.5e9, request_seconds: 100e-6, in_flight: 8 };

    /// A local disk with a moving head.
    pub const HDD: Storage =
        Storage { bytes_per_second: 150e6, request_seconds: 8e-3, in_flight: 1 };

    /// Storage behind a network.
    pub const NETWORK: Storage =
        Storage { bytes_per_second: 250e6, request_seconds: 1e-3, in_flight: 8 };

    /// A bucket of objects, each request for one: of a machine in the same region. A guess, from the guides of
    /// the servers.
    pub const BUCKET: Storage =
        Storage { bytes_per_second: 400e6, request_seconds: 30e-3, in_flight: 32 };

    /// The seconds that so many bytes take in so many requests.
    pub fn seconds(&self, bytes: u64, requests: u64) -> f64 {
        let in_flight = self.in_flight.max(1) as f64;
        bytes as f64 / self.bytes_per_second + requests as f64 * self.request_seconds / in_flight
    }

    /// What the disk of `file` takes, from some requests of the kind that a movement makes: about
    /// 60 MB, a fraction of a second, and before that what is still to be written of the file. What
    /// no disk does is not believed: then it is [`Storage::SSD`]. `None` if the file is too short for
    /// that or cannot be read.
    pub fn probe(file: &File) -> Option<Storage> {
        let bytes = file.metadata().ok()?.len();
        if bytes < LONG_REQUESTS * LONG_BYTES as u64 * 2 {
            return None;
        }
        // What is not on the disk yet would be read from memory. If it cannot be written, whoever
        // reads it will say so.
        let _ = file.sync_data();
        let past_cache = past_cache(file);
        let file = past_cache.as_ref().unwrap_or(file);
        let in_flight = Storage::SSD.in_flight;
        let probe = |length: usize, requests: u64, round: usize| {
            let share = requests / ROUNDS as u64;
            let own = round as u64 * share..(round as u64 + 1) * share;
            // An order in which no readahead finds the next one.
            let place = |request: u64| {
                let place = (bytes - length as u64) / requests * (request * 37 % requests);
                place - place % ALIGNMENT as u64
            };
            let places: Vec<u64> = own.map(place).collect();
            seconds_each(file, &places, length, in_flight)
        };
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            short.push(probe(SHORT_BYTES, SHORT_REQUESTS, round)?);
            long.push(probe(LONG_BYTES, LONG_REQUESTS, round)?);
        }
        Some(Storage::of_requests(median(short), median(long), in_flight))
    }

    /// The disk on which, of requests in flight, the short ones take so many seconds each, and the
    /// long ones so many.
    fn of_requests(short: f64, long: f64, in_flight: usize) -> Storage {
        let seconds_a_byte = (long - short).max(long / 8.0) / (LONG_BYTES - SHORT_BYTES) as f64;
        let request = (short - SHORT_BYTES as f64 * seconds_a_byte).max(short / 8.0);
        let found = Storage {
            bytes_per_second: 1.0 / seconds_a_byte,
            request_seconds: request * in_flight as f64,
            in_flight,
        };
        if !found.is_believable() {
            return Storage::SSD;
        }
        let bytes_per_second = found.bytes_per_second.min(MOST_WRITTEN_PER_SECOND);
        Storage { bytes_per_second, ..found }
    }

    /// Whether there is such a disk.
    pub(crate) fn is_believable(&self) -> bool {
        (LEAST_BYTES_PER_SECOND..=MOST_BYTES_PER_SECOND).contains(&self.bytes_per_second)
            && (LEAST_REQUEST_SECONDS..=MOST_REQUEST_SECONDS).contains(&self.request_seconds)
            && (1..=Storage::SSD.in_flight).contains(&self.in_flight)
    }
}

/// The median.
fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// The same file, read past the system's cache, where that can be.
#[cfg(target_os = "linux")]
fn past_cache(file: &File) -> Option<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(path).ok()?;
    // Some file systems open it and then do not read.
    let mut memory = vec![0; 2 * ALIGNMENT];
    opened.read_exact_at(aligned(&mut memory, ALIGNMENT), 0).ok()?;
    Some(opened)
}

#[cfg(not(target_os = "linux"))]
fn past_cache(_: &File) -> Option<File> {
    None
}

/// So many bytes of `memory`, from the first that is aligned.
fn aligned(memory: &mut [u8], length: usize) -> &mut [u8] {
    let start = memory.as_ptr().align_offset(ALIGNMENT).min(memory.len() - length);
    &mut memory[start..start + length]
}

/// The seconds for each of these reads, by several threads.
fn seconds_each(file: &File, places: &[u64], length: usize, threads: usize) -> Option<f64> {
    for place in places {
        file.forget(*place, length as u64);
    }
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        let mut memory = vec![0; length + ALIGNMENT];
        let memory = aligned(&mut memory, length);
        while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            file.read_exact_at(memory, *place)?;
        }
        Ok(())
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer threads it is what fewer threads take.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work().ok()
    })?;
    Some(begin.elapsed().as_secs_f64() / places.len() as f64)
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} GB/s, {:.0} us a request, {} in flight",
            self.bytes_per_second / 1e9,
            self.request_seconds * 1e6,
            self.in_flight
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds of short and long requests on a disk, of `in_flight` at once.
    fn times(storage: &Storage) -> (f64, f64) {
        let seconds = |bytes: usize| storage.seconds(bytes as u64, 1);
        (seconds(SHORT_BYTES), seconds(LONG_BYTES))
    }

    #[test]
    fn a_disk_is_found_from_its_times() {
        for storage in [
            Storage::SSD,
            Storage { bytes_per_second: 200e6, request_seconds: 8e-3, in_flight: 8 },
            Storage { bytes_per_second: 2.9e9, request_seconds: 60e-6, in_flight: 8 },
        ] {
            let (short, long) = times(&storage);
            let found = Storage::of_requests(short, long, storage.in_flight);
            let near = |one: f64, two: f64| (one / two - 1.0).abs() < 0.01;
            assert!(near(found.bytes_per_second, storage.bytes_per_second), "{found:?}");
            assert!(near(found.request_seconds, storage.request_seconds), "{found:?}");
        }
    }

    #[test]
    fn what_no_disk_does_is_not_believed() {
        // From the system's cache: 2 us for 16 KiB, 50 GB/s; from a host's, 20 us in 8 threads.
        for (short, long) in [(0.3e-6, 10e-6), (2e-6, 14e-6), (0.0, 0.0), (1e-6, 0.5e-6)] {
            assert_eq!(Storage::of_requests(short, long, 8), Storage::SSD, "{short} {long}");
        }
        // Nor what stands still or is not a number.
        for (short, long) in [(60.0, 100.0), (f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY)] {
            assert_eq!(Storage::of_requests(short, long, 8), Storage::SSD, "{short} {long}");
        }
        // One that reads 7 GB/s writes less.
        let fast = Storage { bytes_per_second: 7e9, request_seconds: 80e-6, in_flight: 8 };
        let (short, long) = times(&fast);
        assert_eq!(Storage::of_requests(short, long, 8).bytes_per_second, MOST_WRITTEN_PER_SECOND);
    }

    #[test]
    fn one_bad_round_does_not_count() {
        assert_eq!(median(vec![1e-3, 900.0, 2e-3]), 2e-3);
        assert_eq!(median(vec![1e-3, 1e-9, 2e-3]), 1e-3);
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn a_file_is_probed_if_it_is_long_enough() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LONG_REQUESTS * LONG_BYTES as u64 * 2 - 1).unwrap();
        assert_eq!(Storage::probe(&file), None);
        // A hole, and an end that no request is aligned to.
        file.set_len(LONG_REQUESTS * LONG_BYTES as u64 * 2 + 12_345).unwrap();
        assert!(Storage::probe(&file).is_some_and(|found| found.is_believable()));
    }
}
