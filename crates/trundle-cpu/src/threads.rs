//! The threads that tasks run on: started once, asleep between moves, no allocation per move.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::fork_safe::ForkSafe;
use crate::scope;

/// The bytes that each thread must have to move. Waking a thread costs the caller 5 to 10 us, in which it could copy
/// half a megabyte, and the lines have to come over from the caller's caches. Two threads are slower than one up to
/// 1 MiB, about even at 2 MiB, and faster from 4 MiB on (measured; docs/kernels.md).
const LEAST_THREAD_BYTES: usize = 1 << 20;

/// A request for more threads than this is taken for a mistake: each would be started.
const MOST_THREADS: usize = 1024;

/// The number of tasks for each thread, so that a slower thread can leave some of its part to others.
pub(crate) const TASKS_PER_THREAD: usize = 8;

/// The number of threads, at most `most`, that a move of `bytes` bytes is worth.
pub(crate) fn threads_for(bytes: usize, most: usize) -> usize {
    (bytes / LEAST_THREAD_BYTES).clamp(1, most.clamp(1, MOST_THREADS))
}

/// Runs `work(0)`, ..., `work(tasks - 1)`, each once, on up to `threads` threads, the caller's
/// among them, or of the pool of the [scope](crate::scope). Tasks are handed out in order, to whichever
/// thread is free.
///
/// While another caller has the pool, the tasks run on the caller's thread alone: the cores are
/// busy either way, and nothing waits.
///
/// # Panics
/// If a task does, after all threads have stopped.
pub(crate) fn for_each_task(threads: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    // Small moves are of one task, and need not know where they are.
    if threads.min(tasks) > 1 {
        let (threads, pool) = scope::of_run(threads);
        if let Some(pool) = pool {
            return scope::for_each_task_on(pool, threads, tasks, work);
        }
        return for_each_task_of_ours(threads, tasks, work);
    }
    (0..tasks).for_each(work);
}

/// [`for_each_task`] on our own threads.
fn for_each_task_of_ours(threads: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    let helpers = threads.min(tasks).saturating_sub(1);
    if helpers > 0 {
        let pool = pool();
        let turn = match pool.turn.try_lock() {
            Ok(turn) => Some(turn),
            // An earlier task panicked: the pool is whole all the same.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if turn.is_some() {
            return pool.run(helpers, tasks, work);
        }
    }
    (0..tasks).for_each(work);
}

/// The pool of this process. In a process that was forked from one with a pool, there are no threads
/// but the one that forked, and a lock that another held is held for ever: of that pool, only the
/// number of its process is looked at.
fn pool() -> &'static Pool {
    static POOL: ForkSafe<Pool> = ForkSafe::empty();
    let process = process_number();
    POOL.get(|pool| pool.process == process, || Pool { process, ..Pool::default() })
}

/// What tells a process from the one that it was forked from.
fn process_number() -> u32 {
    // Elsewhere nothing forks, and processes may have no numbers.
    if cfg!(unix) { std::process::id() } else { 0 }
}

#[derive(Default)]
struct Pool {
    /// The process that the threads are in.
    process: u32,
    /// Held by the caller whose job runs.
    turn: Mutex<()>,
    state: Mutex<State>,
    /// Signalled when seats are free.
    wake: Condvar,
    /// Signalled when the last helper has left the job.
    left: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// How many more helpers may join the job.
    seats: usize,
    /// Helpers that are in the job.
    joined: usize,
    /// Threads that exist.
    workers: usize,
    panicked: bool,
}

/// A caller's tasks, on its stack.
#[derive(Clone, Copy)]
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    next: *const AtomicUsize,
    tasks: usize,
}

// SAFETY: what the pointers lead to is Sync, and the caller keeps it alive until no helper is in
// the job: see `Pool::run`.
unsafe impl Send for Job {}

impl Job {
    /// Takes tasks until none is left.
    ///
    /// # Safety
    /// The caller that made the job waits until this returns.
    unsafe fn run(self) {
        // SAFETY: both outlive the job, by this function's contract.
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

    /// Runs the tasks with so many helpers.
    ///
    /// A task may come back as another process: it asks whether it shall go on, and who is asked may
    /// fork, as a signal handler in Python does. In the child there are no helpers, and what they had
    /// begun is half done. So there the caller does all of it again, alone.
    fn run(&'static self, helpers: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let process = process_number();
        // SAFETY: only the lifetime is erased. `Leave` below waits for every helper before this
        // frame ends, also when a task panics.
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
            // A caller whose own task panicked has not asked after its helpers.
            state.panicked = false;
        }
        for _ in 0..helpers {
            self.wake.notify_one();
        }
        let leave = Leave { pool: self, process };
        // SAFETY: `job` is made from this frame, which `leave` keeps until all have left.
        unsafe { job.run() };
        drop(leave);
        if process_number() != process {
            return (0..tasks).for_each(work);
        }
        assert!(!std::mem::take(&mut self.state().panicked), "a task of a move panicked");
    }

    /// Starts a thread that helps with jobs for ever; false if the system refuses.
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

    /// Waits for a free seat, and helps with its job.
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

/// Ends a job: nobody joins any more, and everybody has left.
struct Leave {
    pool: &'static Pool,
    /// The process that the helpers are in.
    process: u32,
}

impl Drop for Leave {
    fn drop(&mut self) {
        // In a child no helper is there to be waited for, nor to give the lock back if it had it.
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
    fn callers_at_once_each_get_their_tasks_done() {
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
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let panics = catch_unwind(|| for_each_task(2, 64, &|task| assert!(task != 33)));
        assert!(panics.is_err());
        every_task_runs_once();
    }

    #[test]
    fn panics_on_every_thread_end_with_their_job() {
        // A pool that no other test has. The tasks wait for each other, so that the caller's
        // panics and a helper's too.
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
    fn nobody_joins_a_job_that_has_ended() {
        let pool: &Pool = Box::leak(Box::default());
        for _ in 0..100 {
            // The caller is often done before the helpers are awake: its frame is gone then.
            pool.run(3, 4, &|_| ());
            let state = pool.state();
            assert!(state.job.is_none() && state.seats == 0 && state.joined == 0);
        }
    }

    #[test]
    fn a_task_may_have_tasks_of_its_own() {
        let sum = AtomicUsize::new(0);
        for_each_task(3, 20, &|_| {
            for_each_task(3, 20, &|task| {
                sum.fetch_add(task, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 20 * (20 * 19 / 2));
    }
}
