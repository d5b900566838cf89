//! Thread settings for all moves inside a closure.
//!
//! Functions that move elements need no parameter for threads, and one plan can run on different pools.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Machine;

/// A thread pool of the caller, used instead of the built-in threads.
///
/// ```
/// use std::thread;
///
/// /// Threads of the standard library, started for each move.
/// struct Started(usize);
///
/// impl trundle_cpu::ThreadPool for Started {
///     fn threads(&self) -> usize {
///         self.0
///     }
///
///     fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
///         thread::scope(|scope| {
///             for _ in 1..times {
///                 scope.spawn(work);
///             }
///             work();
///         });
///     }
/// }
///
/// assert_eq!(trundle_cpu::with_pool(&Started(3), trundle_cpu::threads), 3);
/// ```
pub trait ThreadPool: Sync {
    /// Returns the maximum number of threads for a move, including the calling thread if it also works.
    fn threads(&self) -> usize;

    /// Calls `work` `times` times, if possible on several threads at once, and returns after all calls have returned.
    /// With rayon: `self.0.scope(|scope| (0..times).for_each(|_| scope.spawn(|_| work())))`.
    ///
    /// Each call moves parts until none are left, so a late call returns at once. trundle then moves all remaining
    /// parts on the calling thread, so a wrong number of calls only costs time.
    fn run(&self, times: usize, work: &(dyn Fn() + Sync));
}

/// Calls `run` with a limit of `threads` threads.
///
/// Inside `run`, moves planned on this thread are planned for `threads` threads by default. Moves run on this thread
/// use at most `threads` threads, even if they were planned for more.
pub fn with_threads<R>(threads: usize, run: impl FnOnce() -> R) -> R {
    within(Scope { threads: Some(threads.max(1)), ..SCOPE.get() }, run)
}

/// Calls `run`, and runs all moves inside it on `pool` instead of the built-in threads.
///
/// Inside `run`, moves planned on this thread use the pool's number of threads by default.
pub fn with_pool<R>(pool: &dyn ThreadPool, run: impl FnOnce() -> R) -> R {
    let threads = Some(pool.threads().max(1));
    // SAFETY: only the lifetime is erased. The scope ends before this borrow does, also on a panic.
    let pool: NonNull<dyn ThreadPool> = unsafe {
        std::mem::transmute::<NonNull<dyn ThreadPool + '_>, NonNull<dyn ThreadPool>>(pool.into())
    };
    within(Scope { threads, pool: Some(pool) }, run)
}

/// Returns the default number of threads for a move planned on this thread. It comes from [`with_threads`] or
/// [`with_pool`]; outside both, from [`Machine::detect`].
#[inline]
pub fn threads() -> usize {
    SCOPE.get().threads.unwrap_or_else(|| Machine::detect().threads)
}

thread_local! {
    static SCOPE: Cell<Scope> = const { Cell::new(Scope { threads: None, pool: None }) };
}

#[derive(Clone, Copy)]
struct Scope {
    threads: Option<usize>,
    /// Valid while the scope is active on this thread.
    pool: Option<NonNull<dyn ThreadPool>>,
}

/// Calls `run` in a scope and restores the previous one, even on a panic.
fn within<R>(scope: Scope, run: impl FnOnce() -> R) -> R {
    struct Restore(Scope);

    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }

    let _around = Restore(SCOPE.replace(scope));
    run()
}

/// Returns the number of threads and the pool for a plan that was made for `planned` threads. `None` means the built-in
/// pool.
pub(crate) fn of_run<'a>(planned: usize) -> (usize, Option<&'a dyn ThreadPool>) {
    let Scope { threads, pool } = SCOPE.get();
    // SAFETY: the scope is active on this thread and outlives the runs inside it.
    let pool = pool.map(|pool| unsafe { pool.as_ref() });
    (threads.map_or(planned, |threads| planned.min(threads)), pool)
}

/// Runs `work(0)`, ..., `work(tasks - 1)` once each, on up to `threads` threads of a pool.
///
/// This function assigns the tasks and checks that all are done, so a faulty pool cannot break memory safety.
///
/// # Panics
/// Panics if a task panics.
pub(crate) fn for_each_task_on(
    pool: &dyn ThreadPool,
    threads: usize,
    tasks: usize,
    work: &(dyn Fn(usize) + Sync),
) {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let take = || {
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return;
            }
            work(task);
            done.fetch_add(1, Ordering::Release);
        }
    };
    pool.run(threads.min(tasks), &take);
    take();
    assert!(done.load(Ordering::Acquire) == tasks, "a task of a move panicked");
}
