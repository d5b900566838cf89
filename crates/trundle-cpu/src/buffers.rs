//! The two ends of a move, shared by its threads.

/// Where a run reads and where it writes.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
}

// SAFETY: the threads of a run read the source, which nobody writes, and write disjoint parts of the destination. Whoever
// makes one vouches for it.
unsafe impl Sync for Buffers {}
