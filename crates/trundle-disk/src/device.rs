//! What a disk takes for requests and for bytes.

use std::fmt;
use std::fs::File;
use std::time::Instant;

use serde::{Deserialize, Serialize};

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
const LONG_BYTES: usize = 4 << 20;

/// How many of those.
const LONG_REQUESTS: u64 = 12;

/// Bytes of a request of the probe that measures what a request costs.
const SHORT_BYTES: usize = 4 << 10;

/// How many of those.
const SHORT_REQUESTS: u64 = 64;

/// Places of direct requests, in the file and in memory, are multiples of this many bytes.
const DIRECT_ALIGNMENT: usize = 4 << 10;

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

    /// What the disk of `file` takes, from some requests past the system's cache: about 50 MB, a
    /// fraction of a second. `None` where the system reads nothing past its cache, or the file is
    /// too short.
    pub fn probe(file: &File) -> Option<Device> {
        let direct = past_the_cache(file)?;
        let bytes = direct.metadata().ok()?.len();
        if bytes < LONG_REQUESTS * LONG_BYTES as u64 * 2 {
            return None;
        }
        let mut memory = vec![0; LONG_BYTES + DIRECT_ALIGNMENT];
        let start =
            memory.as_ptr().addr().next_multiple_of(DIRECT_ALIGNMENT) - memory.as_ptr().addr();
        let mut timed = |length: usize, requests: u64| -> Option<f64> {
            let begin = Instant::now();
            for number in 0..requests {
                // Spread over the file, which no readahead foresees.
                let at = (bytes - LONG_BYTES as u64) / requests * (number * 37 % requests);
                let at = at / DIRECT_ALIGNMENT as u64 * DIRECT_ALIGNMENT as u64;
                crate::positioned::read_exact_at(&direct, &mut memory[start..][..length], at)
                    .ok()?;
            }
            Some(begin.elapsed().as_secs_f64() / requests as f64)
        };
        // The first request of all pays for what is not the disk's.
        timed(SHORT_BYTES, 4)?;
        let request_seconds = timed(SHORT_BYTES, SHORT_REQUESTS)?;
        let long = timed(LONG_BYTES, LONG_REQUESTS)?;
        let bytes_per_second = LONG_BYTES as f64 / (long - request_seconds).max(long / 8.0);
        Some(Device { bytes_per_second, request_seconds, in_flight: Device::SSD.in_flight })
    }
}

/// The same file, read from the disk and not from the system's cache.
#[cfg(target_os = "linux")]
fn past_the_cache(file: &File) -> Option<File> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags, open};

    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    open(path, OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty())
        .ok()
        .map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn past_the_cache(_: &File) -> Option<File> {
    None
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
