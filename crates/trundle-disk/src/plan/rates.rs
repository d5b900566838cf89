//! How long what a movement asks of the machine takes.

use serde::{Deserialize, Serialize};

use crate::Storage;

/// The model by which passes and tiles are chosen: of the disk, and of codecs beside it. Since a chunk that
/// is read for two tiles is decoded twice, the second time can cost more than to write its elements in another
/// order once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rates {
    pub(crate) storage: Storage,
    /// How many cores decode, or encode.
    pub(crate) coders: usize,
}

impl Rates {
    /// The seconds for so many bytes in so many requests, and so many picoseconds of a core in codecs.
    pub(crate) fn seconds(&self, bytes: u64, requests: u64, in_codecs: u64) -> f64 {
        let cores = self.coders.max(1) as f64;
        self.storage.seconds(bytes, requests) + in_codecs as f64 * 1e-12 / cores
    }
}
