//! What a disk takes for requests and for bytes.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::positioned::{forget, read_exact_at};

/// The model of a disk by which passes and tiles are chosen: so many bytes take
/// `bytes / bytes_per_second`, and so many requests `requests · request_seconds / in_flight` on top.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// What it reads or writes in long runs.
    pub bytes_per_second: f64,
    /// What each request costs beside its bytes.
    pub request_seconds: f64,
    /// How many requests it works on at once.
    pub in_flight: usize,
}

/// Bytes of a request of the probe that measures long runs.
const LONG_BYTES: usize = 512 << 10;

/// How many of those.
const LONG_REQUESTS: u64 = 96;

/// Bytes of a request of the probe that measures what a request costs.
const SHORT_BYTES: usize = 16 << 10;

/// How many of those.
const SHORT_REQUESTS: u64 = 512;

impl Device {
    /// A disk without moving parts, in this machine.
    pub const SSD: Device =
        Device { bytes_per_second: 1.5e9, request_seconds: 100e-6, in_flight: 8 };

    /// A disk with a head, which travels between requests.
    pub const HDD: Device = Device { bytes_per_second: 150e6, request_seconds: 8e-3, in_flight: 1 };

    /// Storage behind a network.
    pub const NETWORK: Device =
        Device { bytes_per_second: 250e6, request_seconds: 1e-3, in_flight: 8 };

    /// The seconds that so many bytes take in so many requests.
    pub fn seconds(&self, bytes: u64, requests: u64) -> f64 {
        let in_flight = self.in_flight.max(1) as f64;
        bytes as f64 / self.bytes_per_second + requests as f64 * self.request_seconds / in_flight
    }

    /// What the disk of `file` takes, from some requests of the kind that a movement makes: about
    /// 60 MB, a fraction of a second. `None` if the file is too short for that or cannot be read.
    pub fn probe(file: &File) -> Option<Device> {
        let bytes = file.metadata().ok()?.len();
        if bytes < LONG_REQUESTS * LONG_BYTES as u64 * 2 {
            return None;
        }
        let in_flight = Device::SSD.in_flight;
        let probe =
            |length: usize, requests: u64| seconds_each(file, bytes, length, requests, in_flight);
        // The first requests of all pay for what is not the disk's.
        probe(SHORT_BYTES, 16)?;
        let (short, long) =
            (probe(SHORT_BYTES, SHORT_REQUESTS)?, probe(LONG_BYTES, LONG_REQUESTS)?);
        let seconds_a_byte = (long - short).max(long / 8.0) / (LONG_BYTES - SHORT_BYTES) as f64;
        let request = (short - SHORT_BYTES as f64 * seconds_a_byte).max(short / 8.0);
        Some(Device {
            bytes_per_second: 1.0 / seconds_a_byte,
            request_seconds: request * in_flight as f64,
            in_flight,
        })
    }
}

/// The seconds for each of so many reads, spread over a file of `bytes`, by several threads.
fn seconds_each(
    file: &File,
    bytes: u64,
    length: usize,
    requests: u64,
    threads: usize,
) -> Option<f64> {
    // An order in which no readahead finds the next one.
    let place = |number: u64| (bytes - length as u64) / requests * (number * 37 % requests);
    for number in 0..requests {
        forget(file, place(number), length as u64);
    }
    let next = AtomicU64::new(0);
    let work = || -> io::Result<()> {
        let mut memory = vec![0; length];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= requests {
                return Ok(());
            }
            read_exact_at(file, &mut memory, place(number))?;
        }
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer threads it is what fewer threads take.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work().ok()
    })?;
    Some(begin.elapsed().as_secs_f64() / requests as f64)
}

impl fmt::Display for Device {
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
