//! Limits how much larger a model may become than its file.

use crate::problem::{Checked, unsupported};

/// The limit in bytes for all inlined function calls and long names. It allows more than a hundred thousand nodes.
/// Without it, functions that call functions could expand a small file to any size.
const MOST: usize = 64 << 20;

/// Estimated bytes of a node (`NODE`), and of each input, output and attribute (`PART`).
const NODE: usize = 512;
const PART: usize = 64;

/// The remaining bytes.
pub(super) struct Growth(usize);

impl Growth {
    pub(super) fn new() -> Growth {
        Growth(MOST)
    }

    /// Counts a node with `parts` inputs, outputs and attributes, and `bytes` further bytes.
    pub(super) fn node(&mut self, parts: usize, bytes: usize) -> Checked<()> {
        match self.take(PART.saturating_mul(parts).saturating_add(NODE).saturating_add(bytes)) {
            true => Ok(()),
            false => unsupported!(
                "the model's functions take over {} MiB when they are written out",
                MOST >> 20
            ),
        }
    }

    /// Counts the prefix of a node's name: the names of the enclosing nodes.
    pub(super) fn path(&mut self, bytes: usize) -> Checked<()> {
        match self.take(bytes) {
            true => Ok(()),
            false => unsupported!(
                "the names of the nodes that others are within take over {} MiB",
                MOST >> 20
            ),
        }
    }

    /// Takes `bytes`, or returns false if fewer remain.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}
