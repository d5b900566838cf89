//! How many threads the moves of a caller may use, and whose: for all that a closure calls.
//!
//! So every function has both without a parameter for them, and a plan that is made once runs on
//! whatever pool its caller has at that moment.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Machine;

/// Threads of a caller's own: those of a pool or an engine, in place of ours.
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
    /// How many of its threads may take part in a move, the caller's among them if it works along.
    fn threads(&self) -> usize;

    /// Calls `work` so many times, on threads of its own and several at once as far as they are free,
    /// and returns when all calls have. With rayon:
    /// `self.0.scope(|scope| (0..times).for_each(|_| scope.spawn(|_| work())))`.
    ///
    /// Each call takes parts of a move until none is left, so a thread that comes late finds nothing
    /// to do. What no call has taken, the caller does when this returns: calls that are too many or too
    /// few cost time only.
    fn run(&self, times: usize, work: &(dyn Fn() + Sync));
}

/// Calls `run`. All moves that it plans on this thread are for at most `threads` threads unless they say
/// otherwise, and all that it runs are on no more, whatever they were planned for.
pub fn with_threads<R>(threads: usize, run: impl FnOnce() -> R) -> R {
    within(Scope { threads: Some(threads.max(1)), ..SCOPE.get() }, run)
}

/// Calls `run`. All moves that it plans on this thread are for as many threads as `pool` has unless they
/// say otherwise, and all that it runs are run by `pool`: none of our own threads is started or used.
pub fn with_pool<R>(pool: &dyn ThreadPool, run: impl FnOnce() -> R) -> R {
    let threads = Some(pool.threads().max(1));
    // SAFETY: only the lifetime is erased. The scope ends, also by a panic, before this borrow does.
    let pool: NonNull<dyn ThreadPool> = unsafe {
        std::mem::transmute::<NonNull<dyn ThreadPool + '_>, NonNull<dyn ThreadPool>>(pool.into())
    };
    within(Scope { threads, pool: Some(pool) }, run)
}

/// How many threads a move that is planned now on this thread may use, if nothing else is said:
/// what [`with_threads`] or [`with_pool`] say, else what [`Machine::detect`] does.
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
    /// It is there as long as the scope is this thread's.
    pool: Option<NonNull<dyn ThreadPool>>,
}

/// Calls `run` within a scope, and goes back to the one around it, also if it panics.
fn within<R>(scope: Scope, run: impl FnOnce() -> R) -> R {
    struct Around(Scope);

    impl Drop for Around {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }

    let _around = Around(SCOPE.replace(scope));
    run()
}

/// The threads that a run planned for so many may use, and whose, if not ours.
pub(crate) fn of_run<'a>(planned: usize) -> (usize, Option<&'a dyn ThreadPool>) {
    let Scope { threads, pool } = SCOPE.get();
    // SAFETY: the scope is this thread's now, and does not end while a run that it calls goes on.
    let pool = pool.map(|pool| unsafe { pool.as_ref() });
    (threads.map_or(planned, |threads| planned.min(threads)), pool)
}

/// Runs `work(0)`, ..., `work(tasks - 1)`, each once, on up to so many threads of a pool.
///
/// Which task a call takes, and whether all are done, is not left to the pool: memory is safe whatever it
/// does.
///
/// # Panics
/// If a task does.
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
