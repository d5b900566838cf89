//! The memory of a tensor that is moved within itself, what lies around what is moved together, and the scratch of threads.

use std::sync::Mutex;

use trundle_core::InPlaceAxis;

/// The buffer, shared by the threads of a run.
#[derive(Clone, Copy)]
pub(super) struct Memory(*mut u8);

// SAFETY: threads read and write disjoint parts: no two cycles have a byte in common.
unsafe impl Sync for Memory {}
// SAFETY: the same.
unsafe impl Send for Memory {}

impl Memory {
    pub(super) fn new(start: *mut u8) -> Memory {
        Memory(start)
    }

    /// The byte at an offset.
    pub(super) fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// Places that are alike: how many there are along each axis, and how far apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Around(Vec<(usize, usize)>);

impl Around {
    /// Those along axes.
    pub(super) fn axes<'a>(axes: impl Iterator<Item = &'a InPlaceAxis>) -> Around {
        Around::new(axes.map(|axis| (axis.len, axis.stride.unsigned_abs())).collect())
    }

    /// So many along each axis, so many bytes apart.
    pub(super) fn new(axes: Vec<(usize, usize)>) -> Around {
        Around(axes)
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|(len, _)| len).product()
    }

    /// How far place `number` is from the first one.
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

/// Scratch that the tasks of a run have in turn, one for each thread.
pub(super) struct Scratch {
    bytes: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Scratch {
    /// So many bytes for each thread.
    pub(super) fn new(bytes: usize) -> Scratch {
        Scratch { bytes, free: Mutex::default() }
    }

    /// Calls `work` with bytes that nobody else has meanwhile.
    pub(super) fn with(&self, work: impl FnOnce(&mut [u8])) {
        let free = self.free.lock().map(|mut free| free.pop()).ok().flatten();
        let mut own = free.unwrap_or_else(|| vec![0; self.bytes]);
        work(&mut own);
        if let Ok(mut free) = self.free.lock() {
            free.push(own);
        }
    }
}
