//! The thread count of each calling thread.

use std::cell::Cell;
use std::panic::catch_unwind;

thread_local! {
    /// The thread's own setting; 0 if it has none.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Sets how many threads each later call of this thread may use, this thread included. Other threads keep their own
/// setting.
///
/// - `threads`: 1 for this thread alone; 0, the default, for the number in the environment variable
///   TRUNDLE_NUM_THREADS, or the number of cores if it is not set.
///
/// A plan runs on no more threads than the setting when it was made, and no more than the setting of the thread
/// that runs it: a plan made for 4 threads runs on 2 if the setting is then 2, and on 4 if it is 8. Small tensors
/// are always moved by one thread.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_set_num_threads(threads: usize) {
    MOST.set(threads);
}

/// Returns how many threads a call of this thread may use: the number set by trundle_set_num_threads(), or the
/// number in TRUNDLE_NUM_THREADS, or the number of cores available to the process.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_num_threads() -> usize {
    match MOST.get() {
        0 => catch_unwind(trundle::threads).unwrap_or(1),
        threads => threads,
    }
}

/// Runs a call with the calling thread's setting.
#[inline]
pub(crate) fn within<R>(call: impl FnOnce() -> R) -> R {
    match MOST.get() {
        0 => call(),
        threads => trundle::with_threads(threads, call),
    }
}
