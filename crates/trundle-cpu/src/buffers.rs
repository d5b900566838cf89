//! The source and destination pointers of a run.

#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
}

// SAFETY: the threads of a run only read the source, which nothing writes, and write disjoint parts of the
// destination. The code that creates a `Buffers` guarantees that.
unsafe impl Sync for Buffers {}
