//! Limits how much larger than its file a model may become.

use crate::problem::{Checked, unsupported};

/// Limits the memory of all inlined function calls and long names, in bytes. The limit allows over a hundred
/// thousand nodes; without it, functions that call functions could expand a small file to any size.
const MOST: usize = 64 << 20;

/// The estimated memory of a node, and of each of its inputs, outputs and attributes, in bytes.
const NODE: usize = 512;
const PART: usize = 64;

/// The number of bytes left.
pub(super) struct Growth(usize);

impl Growth {
    pub(super) fn new() -> Growth {
        Growth(MOST)
    }

    /// Charges a node with `parts` inputs, outputs and attributes, and `bytes` further bytes.
    pub(super) fn node(&mut self, parts: usize, bytes: usize) -> Checked<()> {
        match self.take(PART.saturating_mul(parts).saturating_add(NODE).saturating_add(bytes)) {
            true => Ok(()),
            false => unsupported!(
                "the model's functions take over {} MiB when they are written out",
                MOST >> 20
            ),
        }
    }

    /// Charges the prefix of a node's name: the names of the enclosing nodes.
    pub(super) fn path(&mut self, bytes: usize) -> Checked<()> {
        match self.take(bytes) {
            true => Ok(()),
            false => unsupported!(
                "the names of the nodes that others are within take over {} MiB",
                MOST >> 20
            ),
        }
    }

    /// Takes `bytes` if that many are left; returns whether they were.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}
