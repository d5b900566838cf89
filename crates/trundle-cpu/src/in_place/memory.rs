//! Helpers for all passes.

use std::sync::Mutex;

use trundle_core::InPlaceAxis;

/// The tensor's buffer, shared by the threads of a run.
#[derive(Clone, Copy)]
pub(super) struct SharedBuffer(*mut u8);

// SAFETY: threads access disjoint parts, because no two cycles share a byte.
unsafe impl Sync for SharedBuffer {}
// SAFETY: as for `Sync`.
unsafe impl Send for SharedBuffer {}

impl SharedBuffer {
    pub(super) fn new(start: *mut u8) -> SharedBuffer {
        SharedBuffer(start)
    }

    pub(super) fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// A regular grid of positions: count and byte stride along each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Around(Vec<(usize, usize)>);

impl Around {
    /// Makes a grid of all indices of the given axes.
    pub(super) fn axes<'a>(axes: impl Iterator<Item = &'a InPlaceAxis>) -> Around {
        Around::new(axes.map(|axis| (axis.len, axis.stride.unsigned_abs())).collect())
    }

    pub(super) fn new(axes: Vec<(usize, usize)>) -> Around {
        Around(axes)
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|(len, _)| len).product()
    }

    /// Returns the byte offset of position `number`.
    pub(super) fn offset(&self, number: usize) -> usize {
        let mut rest = number;
        let mut offset = 0;
        for (len, stride) in self.0.iter().rev() {
            offset += rest % len * stride;
            rest /= len;
        }
        offset
    }
}

/// One bit for each position that has been moved.
pub(super) struct Marks(Vec<u64>);

impl Marks {
    pub(super) fn new(count: usize) -> Marks {
        Marks(vec![0; count.div_ceil(64)])
    }

    pub(super) fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }
}

/// Scratch buffers, which tasks reuse, so there are at most as many as threads.
pub(super) struct Scratch {
    bytes: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Scratch {
    /// Makes scratch with buffers of `bytes` bytes, which are allocated when they are needed.
    pub(super) fn new(bytes: usize) -> Scratch {
        Scratch { bytes, free: Mutex::default() }
    }

    /// Calls `work` with a buffer that no other task uses.
    pub(super) fn with(&self, work: impl FnOnce(&mut [u8])) {
        let free = self.free.lock().map(|mut free| free.pop()).ok().flatten();
        let mut own = free.unwrap_or_else(|| vec![0; self.bytes]);
        work(&mut own);
        if let Ok(mut free) = self.free.lock() {
            free.push(own);
        }
    }
}
