//! The built-in thread pool. Threads start once and sleep between moves. Running a move does not allocate memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::fork_safe::ForkSafe;
use crate::scope;

/// Minimum number of bytes per thread. Waking a thread takes the caller 5 to 10 us, enough to copy half a megabyte, and
/// cache lines come from the caller's core. Two threads are slower than one up to 1 MiB, as fast at 2 MiB, and faster
/// from 4 MiB on (measured; docs/notes/kernels.md).
const LEAST_THREAD_BYTES: usize = 1 << 20;

/// Maximum number of threads. Every requested thread is started, so this limits mistaken requests.
const MOST_THREADS: usize = 1024;

/// Number of tasks per thread, so that fast threads can do more tasks than slow ones.
pub(crate) const TASKS_PER_THREAD: usize = 8;

/// Returns how many threads make a move of `bytes` bytes fastest, at most `most`.
pub(crate) fn threads_for(bytes: usize, most: usize) -> usize {
    (bytes / LEAST_THREAD_BYTES).clamp(1, most.clamp(1, MOST_THREADS))
}

/// Runs `work(0)`, ..., `work(tasks - 1)` once each, in order, on up to `threads` threads including the calling one, or
/// on the pool of the [scope](crate::scope).
///
/// While another caller uses the built-in pool, all tasks run on the calling thread. Waiting would not be faster,
/// because the cores are busy.
///
/// # Panics
/// Panics if a task panics, after all threads have stopped.
pub(crate) fn for_each_task(threads: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    // Small moves have one task and skip the scope lookup.
    if threads.min(tasks) > 1 {
        let (threads, pool) = scope::of_run(threads);
        if let Some(pool) = pool {
            return scope::for_each_task_on(pool, threads, tasks, work);
        }
        return for_each_task_of_ours(threads, tasks, work);
    }
    (0..tasks).for_each(work);
}

fn for_each_task_of_ours(threads: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    let helpers = threads.min(tasks).saturating_sub(1);
    if helpers > 0 {
        let pool = pool();
        let turn = match pool.turn.try_lock() {
            Ok(turn) => Some(turn),
            // An earlier task panicked, but the pool is still consistent.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if turn.is_some() {
            return pool.run(helpers, tasks, work);
        }
    }
    (0..tasks).for_each(work);
}

/// Returns the pool of this process. A forked child has none of the parent's threads, and a lock that was held during
/// the fork is never released. So it reads only the process ID of an inherited pool.
fn pool() -> &'static Pool {
    static POOL: ForkSafe<Pool> = ForkSafe::empty();
    let process = process_number();
    POOL.get(|pool| pool.process == process, || Pool { process, ..Pool::default() })
}

/// Returns an ID that distinguishes a forked child from its parent.
fn process_number() -> u32 {
    // Other systems do not fork, and may have no process IDs.
    if cfg!(unix) { std::process::id() } else { 0 }
}

#[derive(Default)]
struct Pool {
    /// ID of the process that owns the threads.
    process: u32,
    /// Locked by the caller whose job is running.
    turn: Mutex<()>,
    state: Mutex<State>,
    /// Signaled when helpers may join a job.
    wake: Condvar,
    /// Signaled when the last helper has left the job.
    left: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// How many more helpers may join the job.
    seats: usize,
    joined: usize,
    workers: usize,
    panicked: bool,
}

/// The tasks of one caller, whose stack the pointers lead to.
#[derive(Clone, Copy)]
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    next: *const AtomicUsize,
    tasks: usize,
}

// SAFETY: the pointees are Sync, and `Pool::run` keeps them alive until no helper works on the job.
unsafe impl Send for Job {}

impl Job {
    /// Takes tasks until none are left.
    ///
    /// # Safety
    /// The pointers must stay valid until this function returns.
    unsafe fn run(self) {
        // SAFETY: the caller guarantees that both pointers are valid.
        let (work, next) = unsafe { (&*self.work, &*self.next) };
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= self.tasks {
                return;
            }
            work(task);
        }
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the tasks on the calling thread and `helpers` helper threads.
    ///
    /// A task may call the caller's callback ([`Cancellation`](crate::cancellation::Cancellation)), which may fork the
    /// process (for example in a Python signal handler). The child then continues in the same task, without helpers,
    /// whose tasks are unfinished. So it repeats all tasks.
    fn run(&'static self, helpers: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let process = process_number();
        // SAFETY: only the lifetime is erased. `Leave` below waits for every helper before this frame ends, also if a
        // task panics.
        let erased: *const (dyn Fn(usize) + Sync) = unsafe {
            std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work)
        };
        let job = Job { work: erased, next: &raw const next, tasks };
        {
            let mut state = self.state();
            while state.workers < helpers && self.start_worker() {
                state.workers += 1;
            }
            state.job = Some(job);
            state.seats = helpers;
            // A caller whose own task panicked did not reset this flag.
            state.panicked = false;
        }
        for _ in 0..helpers {
            self.wake.notify_one();
        }
        let leave = Leave { pool: self, process };
        // SAFETY: `job` points to this frame, which `leave` keeps alive until all helpers have left.
        unsafe { job.run() };
        drop(leave);
        if process_number() != process {
            return (0..tasks).for_each(work);
        }
        assert!(!std::mem::take(&mut self.state().panicked), "a task of a move panicked");
    }

    /// Starts a helper thread, or returns false if the system cannot.
    fn start_worker(&'static self) -> bool {
        std::thread::Builder::new()
            .name("trundle".to_owned())
            .spawn(move || {
                loop {
                    self.help();
                }
            })
            .is_ok()
    }

    /// Waits for a job that needs a helper, and runs its tasks.
    fn help(&self) {
        let mut state = self.state();
        let job = loop {
            if state.seats > 0
                && let Some(job) = state.job
            {
                break job;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.seats -= 1;
        state.joined += 1;
        drop(state);
        // SAFETY: the job's caller waits while `joined` counts this helper.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { job.run() }));
        let mut state = self.state();
        state.panicked |= outcome.is_err();
        state.joined -= 1;
        if state.joined == 0 {
            self.left.notify_one();
        }
    }
}

/// Ends a job on drop: closes it to helpers, and waits until all have left.
struct Leave {
    pool: &'static Pool,
    /// ID of the process that owns the helpers.
    process: u32,
}

impl Drop for Leave {
    fn drop(&mut self) {
        // A forked child has no helpers, and one may have held the lock during the fork.
        if process_number() != self.process {
            return;
        }
        let mut state = self.pool.state();
        state.job = None;
        state.seats = 0;
        while state.joined > 0 {
            state = self.pool.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 3, 8] {
            for tasks in [0, 1, 2, 7, 1000] {
                let runs: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                for_each_task(threads, tasks, &|task| {
                    runs[task].fetch_add(1, Ordering::Relaxed);
                });
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn concurrent_callers_each_get_their_tasks_done() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let sum = AtomicUsize::new(0);
                        for_each_task(3, 50, &|task| {
                            sum.fetch_add(task, Ordering::Relaxed);
                        });
                        assert_eq!(sum.into_inner(), 50 * 49 / 2);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_still_works() {
        let panics = catch_unwind(|| for_each_task(2, 64, &|task| assert!(task != 33)));
        assert!(panics.is_err());
        every_task_runs_once();
    }

    #[test]
    fn panics_on_every_thread_end_the_job() {
        // A separate pool. Both tasks wait for each other, so that the caller and a helper both panic.
        let pool: &Pool = Box::leak(Box::default());
        let arrived = AtomicUsize::new(0);
        let panics = catch_unwind(|| {
            pool.run(1, 2, &|_| {
                arrived.fetch_add(1, Ordering::Relaxed);
                while arrived.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now();
                }
                panic!("a task that panics for the test");
            });
        });
        assert!(panics.is_err());
        pool.run(1, 2, &|_| ());
    }

    #[test]
    fn no_thread_joins_a_finished_job() {
        let pool: &Pool = Box::leak(Box::default());
        for _ in 0..100 {
            // The caller often finishes before the helpers wake up, so its stack frame no longer exists.
            pool.run(3, 4, &|_| ());
            let state = pool.state();
            assert!(state.job.is_none() && state.seats == 0 && state.joined == 0);
        }
    }

    #[test]
    fn a_task_can_run_nested_tasks() {
        let sum = AtomicUsize::new(0);
        for_each_task(3, 20, &|_| {
            for_each_task(3, 20, &|task| {
                sum.fetch_add(task, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 20 * (20 * 19 / 2));
    }
}
