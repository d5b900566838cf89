//! Models the time of requests to a storage, and measures a disk with a probe.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use trundle_formats::Blob;

use crate::together::together;

/// The cost model of a storage. The time is `bytes / bytes_per_second + requests · request_seconds / in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// The rate of long sequential reads and writes, in bytes per second.
    pub bytes_per_second: f64,
    /// The time of a request in addition to the time for its bytes, in seconds.
    pub request_seconds: f64,
    /// The number of requests that the storage serves at once.
    pub in_flight: usize,
}

/// The bytes of a long request of the probe, which measures the rate.
const LONG_BYTES: usize = 512 << 10;

const LONG_REQUESTS: u64 = 96;

/// The bytes of a short request of the probe, which measures the time per request.
const SHORT_BYTES: usize = 16 << 10;

const SHORT_REQUESTS: u64 = 510;

/// The rounds of the probe. It takes their median, because other processes use the disk too.
const ROUNDS: usize = 3;

/// The alignment of direct I/O, in memory and in the file.
const ALIGNMENT: usize = 4096;

/// The limits of plausible disks: four lanes of PCI Express 5, and the shortest time of a request. Faster answers came
/// from the page cache or from the memory of a virtual machine's host.
const MOST_BYTES_PER_SECOND: f64 = 16e9;
const LEAST_REQUEST_SECONDS: f64 = 10e-6;

/// The limits of slow disks. A slower measurement is wrong.
const LEAST_BYTES_PER_SECOND: f64 = 1e5;
const MOST_REQUEST_SECONDS: f64 = 10.0;

/// The highest rate that a measurement gives. The probe only reads, but a movement also writes, and disks that read
/// faster do not write at that rate for long. A guess from data sheets of 2025.
const MOST_WRITTEN_PER_SECOND: f64 = 3e9;

impl Storage {
    /// A local solid-state disk.
    pub const SSD: Storage =
        Storage { bytes_per_second: 1.5e9, request_seconds: 100e-6, in_flight: 8 };

    /// A local hard disk.
    pub const HDD: Storage =
        Storage { bytes_per_second: 150e6, request_seconds: 8e-3, in_flight: 1 };

    /// Network storage.
    pub const NETWORK: Storage =
        Storage { bytes_per_second: 250e6, request_seconds: 1e-3, in_flight: 8 };

    /// A bucket in the same region, with one request per object. The values are guesses from the providers' guides.
    pub const BUCKET: Storage =
        Storage { bytes_per_second: 400e6, request_seconds: 30e-3, in_flight: 32 };

    /// Returns the estimated seconds for this many bytes and requests.
    pub fn seconds(&self, bytes: u64, requests: u64) -> f64 {
        let in_flight = self.in_flight.max(1) as f64;
        bytes as f64 / self.bytes_per_second + requests as f64 * self.request_seconds / in_flight
    }

    /// Syncs `file` and measures its disk by reading about 60 MB, which takes a fraction of a second on an SSD.
    ///
    /// Returns [`Storage::SSD`] if the result is implausible, and `None` on Windows, and if the file is too short or
    /// cannot be read.
    pub fn probe(file: &File) -> Option<Storage> {
        // On Windows, the cache cannot be bypassed through an open file.
        if cfg!(windows) {
            return None;
        }
        let bytes = file.metadata().ok()?.len();
        if bytes < LONG_REQUESTS * LONG_BYTES as u64 * 2 {
            return None;
        }
        // Without the sync, the probe would read recent data from memory. If the sync fails, later reads report the
        // problem.
        let _ = file.sync_data();
        let past_cache = past_cache(file);
        let file = past_cache.as_ref().unwrap_or(file);
        let in_flight = Storage::SSD.in_flight;
        let probe = |length: usize, requests: u64, round: usize| {
            let share = requests / ROUNDS as u64;
            let own = round as u64 * share..(round as u64 + 1) * share;
            // Spread the requests so that the system does not read ahead.
            let offset = |request: u64| {
                let offset = (bytes - length as u64) / requests * (request * 37 % requests);
                offset - offset % ALIGNMENT as u64
            };
            let offsets: Vec<u64> = own.map(offset).collect();
            seconds_each(file, &offsets, length, in_flight)
        };
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            short.push(probe(SHORT_BYTES, SHORT_REQUESTS, round)?);
            long.push(probe(LONG_BYTES, LONG_REQUESTS, round)?);
        }
        Some(Storage::of_requests(median(short), median(long), in_flight))
    }

    /// Computes the model from the seconds per short and per long request, measured with `in_flight` requests at once.
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

    pub(crate) fn is_believable(&self) -> bool {
        (LEAST_BYTES_PER_SECOND..=MOST_BYTES_PER_SECOND).contains(&self.bytes_per_second)
            && (LEAST_REQUEST_SECONDS..=MOST_REQUEST_SECONDS).contains(&self.request_seconds)
            && (1..=Storage::SSD.in_flight).contains(&self.in_flight)
    }
}

/// The cost model of passes and tiles. It includes codecs, because decoding a chunk again for another tile can take
/// longer than writing an intermediate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rates {
    pub(crate) storage: Storage,
    pub(crate) coders: usize,
}

impl Rates {
    /// Returns the estimated seconds for this many bytes, requests, and picoseconds of coding on one core.
    pub(crate) fn seconds(&self, bytes: u64, requests: u64, in_codecs: u64) -> f64 {
        let cores = self.coders.max(1) as f64;
        self.storage.seconds(bytes, requests) + in_codecs as f64 * 1e-12 / cores
    }
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

#[cfg(target_os = "linux")]
fn past_cache(file: &File) -> Option<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(path).ok()?;
    // Some file systems allow this open, but reads then fail.
    let mut memory = vec![0; 2 * ALIGNMENT];
    opened.read_exact_at(aligned(&mut memory, ALIGNMENT), 0).ok()?;
    Some(opened)
}

#[cfg(not(target_os = "linux"))]
fn past_cache(_: &File) -> Option<File> {
    None
}

/// Returns `length` bytes of `memory` that begin at an aligned address.
fn aligned(memory: &mut [u8], length: usize) -> &mut [u8] {
    let start = memory.as_ptr().align_offset(ALIGNMENT).min(memory.len() - length);
    &mut memory[start..start + length]
}

fn seconds_each(file: &File, offsets: &[u64], length: usize, threads: usize) -> Option<f64> {
    for offset in offsets {
        file.forget(*offset, length as u64);
    }
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        let mut memory = vec![0; length + ALIGNMENT];
        let memory = aligned(&mut memory, length);
        while let Some(offset) = offsets.get(next.fetch_add(1, Ordering::Relaxed)) {
            file.read_exact_at(memory, *offset)?;
        }
        Ok(())
    };
    let begin = Instant::now();
    together(threads, work).ok()?;
    Some(begin.elapsed().as_secs_f64() / offsets.len() as f64)
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

    fn times(storage: &Storage) -> (f64, f64) {
        let seconds = |bytes: usize| storage.seconds(bytes as u64, 1);
        (seconds(SHORT_BYTES), seconds(LONG_BYTES))
    }

    #[test]
    fn a_storage_is_computed_from_request_times() {
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
    fn implausible_request_times_count_as_an_ssd() {
        // 16 KiB in 2 us and 50 GB/s: from the page cache. 20 us with 8 threads: from the memory of a host.
        for (short, long) in [(0.3e-6, 10e-6), (2e-6, 14e-6), (0.0, 0.0), (1e-6, 0.5e-6)] {
            assert_eq!(Storage::of_requests(short, long, 8), Storage::SSD, "{short} {long}");
        }
        // Values that are too slow or not numbers.
        for (short, long) in [(60.0, 100.0), (f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY)] {
            assert_eq!(Storage::of_requests(short, long, 8), Storage::SSD, "{short} {long}");
        }
        // A disk that reads 7 GB/s gets the highest rate for writes.
        let fast = Storage { bytes_per_second: 7e9, request_seconds: 80e-6, in_flight: 8 };
        let (short, long) = times(&fast);
        assert_eq!(Storage::of_requests(short, long, 8).bytes_per_second, MOST_WRITTEN_PER_SECOND);
    }

    #[test]
    fn one_outlier_does_not_change_the_median() {
        assert_eq!(median(vec![1e-3, 900.0, 2e-3]), 2e-3);
        assert_eq!(median(vec![1e-3, 1e-9, 2e-3]), 1e-3);
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn a_file_is_probed_if_it_is_long_enough() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LONG_REQUESTS * LONG_BYTES as u64 * 2 - 1).unwrap();
        assert_eq!(Storage::probe(&file), None);
        // The file is a hole, and its end is not aligned.
        file.set_len(LONG_REQUESTS * LONG_BYTES as u64 * 2 + 12_345).unwrap();
        assert!(Storage::probe(&file).is_some_and(|found| found.is_believable()));
    }
}
