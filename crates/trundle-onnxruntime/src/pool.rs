//! The threads of a session.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use trundle::{Machine, ThreadPool};

use crate::context::Context;

/// The threads that a session runs operators on.
pub(crate) struct Pool<'a>(pub(crate) &'a Context);

// SAFETY: only moves that this call makes use it, and they call `run` on its thread; `threads` reads nothing of it.
unsafe impl Sync for Pool<'_> {}

/// What calls are to do.
struct Work<'a>(&'a (dyn Fn() + Sync));

impl ThreadPool for Pool<'_> {
    /// As many as the machine has: how many a session has is told to nobody.
    fn threads(&self) -> usize {
        Machine::detect().threads
    }

    fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
        let (api, work) = (self.0.api(), Work(work));
        // SAFETY: the context is that of this call, and the function is given what it takes, which stays until all calls of
        // it have ended: then this one does. Without batches it is called once for each number.
        let ran = unsafe {
            let run = api.functions().KernelContext_ParallelFor;
            run(self.0.pointer(), call, times, 0, (&raw const work).cast_mut().cast())
        };
        // What no call has done, the caller does.
        let _ = api.check(ran);
    }
}

/// Does the work once.
///
/// # Safety
/// The pointer leads to [`Work`].
unsafe extern "C" fn call(work: *mut c_void, _number: usize) {
    // SAFETY: the contract is the same.
    let Work(work) = unsafe { &*work.cast::<Work<'_>>() };
    // A task that panics is not done, which the move's caller sees and panics for.
    let _ = catch_unwind(AssertUnwindSafe(work));
}
