use std::cell::Cell;
use std::panic::catch_unwind;

thread_local! {
    /// 0 if this thread has set none.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Sets the maximum number of threads for later calls of this thread. The calling thread is one of them. The settings
/// of other threads do not change.
///
/// - `threads`: the maximum number. With 1, calls use only the calling thread. With 0, the default, it is the value of
///   the environment variable TRUNDLE_NUM_THREADS, or, if that is not set, the number of cores.
///
/// A run of a plan uses at most the number that was set when the plan was made, and at most the number that the running
/// thread has set. A plan made for 4 threads runs on 2 threads if the setting is 2, and on 4 if it is 8. Small tensors
/// are always moved by one thread.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_set_num_threads(threads: usize) {
    MOST.set(threads);
}

/// Returns the maximum number of threads for calls of this thread: the number from trundle_set_num_threads(), or else
/// from TRUNDLE_NUM_THREADS, or else the number of cores available to the process.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_num_threads() -> usize {
    match MOST.get() {
        0 => catch_unwind(trundle::threads).unwrap_or(1),
        threads => threads,
    }
}

#[inline]
pub(crate) fn within<R>(call: impl FnOnce() -> R) -> R {
    match MOST.get() {
        0 => call(),
        threads => trundle::with_threads(threads, call),
    }
}
