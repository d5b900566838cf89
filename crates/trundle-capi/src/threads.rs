//! How many threads the calls of a thread use.

use std::cell::Cell;
use std::panic::catch_unwind;

thread_local! {
    /// As the thread has said; 0 if it has not.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Says how many threads may take part in each call of this thread from now on, itself among them: 1
/// for this thread alone; 0, as in the beginning, for as many as the environment variable
/// TRUNDLE_NUM_THREADS says, else as there are cores. Other threads say it for themselves.
///
/// A plan is for at most as many threads as the one that makes it says, and is run by no more than
/// the one that runs it says: made for 4, it is run by 2 where that says 2, and by 4 where that says
/// 8. Small tensors are moved by one thread, whatever is said.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_set_num_threads(threads: usize) {
    MOST.set(threads);
}

/// How many threads may take part in a call of this thread now: what trundle_set_num_threads() says,
/// else TRUNDLE_NUM_THREADS, else the number of cores that the process may use.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_num_threads() -> usize {
    match MOST.get() {
        0 => catch_unwind(trundle::threads).unwrap_or(1),
        threads => threads,
    }
}

/// Runs a call with as many threads as its thread has said.
#[inline]
pub(crate) fn within<R>(call: impl FnOnce() -> R) -> R {
    match MOST.get() {
        0 => call(),
        threads => trundle::with_threads(threads, call),
    }
}
