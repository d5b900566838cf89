//! Estimates the time of storage and codecs.

use serde::{Deserialize, Serialize};

use crate::Storage;

/// The cost model of passes and tiles: storage and codecs. A chunk that is read for two tiles is decoded twice, which
/// can cost more than an intermediate in another order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rates {
    pub(crate) storage: Storage,
    pub(crate) coders: usize,
}

impl Rates {
    /// The seconds for this many bytes and requests, and picoseconds of coding on one core.
    pub(crate) fn seconds(&self, bytes: u64, requests: u64, in_codecs: u64) -> f64 {
        let cores = self.coders.max(1) as f64;
        self.storage.seconds(bytes, requests) + in_codecs as f64 * 1e-12 / cores
    }
}
