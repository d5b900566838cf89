//! How much larger a model may become than its file.

use crate::problem::{Checked, unsupported};

/// What all calls of functions together may take when they are written out, and long names, in bytes. That is over
/// a hundred thousand nodes; functions that call functions could make any number of a small file.
const MOST: usize = 64 << 20;

/// About what a node takes, and each of its inputs, outputs and attributes.
const NODE: usize = 512;
const PART: usize = 64;

/// What these may still take.
pub(super) struct Growth(usize);

impl Growth {
    /// The same for all models.
    pub(super) fn new() -> Growth {
        Growth(MOST)
    }

    /// Takes a node with this many inputs, outputs and attributes, and further bytes.
    pub(super) fn node(&mut self, parts: usize, bytes: usize) -> Checked<()> {
        match self.take(PART.saturating_mul(parts).saturating_add(NODE).saturating_add(bytes)) {
            true => Ok(()),
            false => unsupported!(
                "the model's functions take over {} MiB when they are written out",
                MOST >> 20
            ),
        }
    }

    /// Takes what stands before the name of a node: the names of the nodes that it is within.
    pub(super) fn path(&mut self, bytes: usize) -> Checked<()> {
        match self.take(bytes) {
            true => Ok(()),
            false => unsupported!(
                "the names of the nodes that others are within take over {} MiB",
                MOST >> 20
            ),
        }
    }

    /// Takes as much, if there is so much left.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}
