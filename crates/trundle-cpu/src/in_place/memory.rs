//! The memory of a tensor that is moved within itself.

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
