//! How much larger a model may become than its file.

use crate::problem::{Checked, unsupported};

/// What all calls of functions together may take when they are written out, in bytes. That is over
/// a hundred thousand nodes; functions that call functions could make any number of a small file.
const MOST: usize = 64 << 20;

/// About what a node takes, and each of its inputs, outputs and attributes.
const NODE: usize = 512;
const PART: usize = 64;

/// What calls of functions may still take.
pub(super) struct Growth(usize);

impl Growth {
    /// The same for all models.
    pub(super) fn new() -> Growth {
        Growth(MOST)
    }

    /// Takes a node with this many inputs, outputs and attributes, and further bytes.
    pub(super) fn node(&mut self, parts: usize, bytes: usize) -> Checked<()> {
        let taken = PART.saturating_mul(parts).saturating_add(NODE).saturating_add(bytes);
        match self.0.checked_sub(taken) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => unsupported!(
                "the model's functions take over {} MiB when they are written out",
                MOST >> 20
            ),
        }
    }
}
