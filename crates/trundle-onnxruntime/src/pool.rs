//! Moves on the threads of a session.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use trundle::{Machine, ThreadPool};

use crate::context::Context;

pub(crate) struct Pool<'a>(pub(crate) &'a Context);

// SAFETY: only moves started by this call use it, and they call `run` on the call's own thread. `threads` does not
// read it.
unsafe impl Sync for Pool<'_> {}

/// Passed through the C callback.
struct Closure<'a>(&'a (dyn Fn() + Sync));

impl ThreadPool for Pool<'_> {
    /// Returns the number of threads of the machine, because ONNX Runtime does not reveal the number of the
    /// session.
    fn threads(&self) -> usize {
        Machine::detect().threads
    }

    fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
        let (api, work) = (self.0.api, Closure(work));
        // SAFETY: the context belongs to the current call. `call` receives its `Closure`, which outlives all calls:
        // `ParallelFor` returns after the last. With 0 batches it calls once for each number.
        let ran = unsafe {
            let run = api.functions().KernelContext_ParallelFor;
            run(self.0.pointer, call, times, 0, (&raw const work).cast_mut().cast())
        };
        // The caller of `run` does the remaining work.
        let _ = api.check(ran);
    }
}

/// Calls the closure once.
///
/// # Safety
/// `work` must point to a [`Closure`].
unsafe extern "C" fn call(work: *mut c_void, _number: usize) {
    // SAFETY: `work` points to a `Closure` by the contract of this function.
    let Closure(work) = unsafe { &*work.cast::<Closure<'_>>() };
    // A panic must not cross the C frame. The move notices the unfinished task and panics in its caller.
    let _ = catch_unwind(AssertUnwindSafe(work));
}
