//! The buffers of a run and the scratch of a thread.

use std::cell::RefCell;

use trundle_core::Packing;
use trundle_kernels::simd::{self, LINE};

/// The buffers of a run. Threads write different elements. Bytes with elements of several threads are written
/// atomically, see `runs::pack`.
#[derive(Clone, Copy)]
pub(super) struct Buffers<'a> {
    pub(super) src: &'a [u8],
    pub(super) dst: *mut u8,
}

/// Unpacked copies of a box or of several rows: as read, and as written.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) read: Vec<u8>,
    pub(super) written: Vec<u8>,
}

impl Scratch {
    pub(super) fn reserve(&mut self, bytes: usize) {
        for copy in [&mut self.read, &mut self.written] {
            if copy.len() < bytes {
                copy.resize(bytes, 0);
            }
        }
    }
}

/// Calls `work` with the scratch of this thread, or a new one if the thread is exiting or uses its own already.
pub(super) fn with_scratch(work: impl Fn(&mut Scratch)) {
    thread_local! {
        static SCRATCH: RefCell<Scratch> = RefCell::default();
    }
    let done = SCRATCH.try_with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut scratch) => work(&mut scratch),
        Err(_) => work(&mut Scratch::default()),
    });
    if done.is_err() {
        work(&mut Scratch::default());
    }
}

#[inline]
pub(super) fn prefetch_run(packing: Packing, packed: *const u8, first: usize, len: usize) {
    let (start, bytes) = (packing.bytes(first), packing.bytes(len));
    for line in (0..bytes).step_by(LINE) {
        simd::prefetch(packed.wrapping_add(start + line));
    }
}
