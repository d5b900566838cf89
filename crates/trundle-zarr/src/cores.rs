//! Limits the number of threads that decode and encode at the same time to one for each core.
//!
//! More threads read and write than there are cores, so that the storage serves several requests at once. If all of
//! them also decoded and encoded at the same time, they would evict each other's tables from the caches: with eight
//! threads on two cores, zstd took a quarter more time. So a thread takes a core to compute, and gives it back while it
//! waits for the storage.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;

/// The cores of a process, counted by a semaphore.
struct Cores {
    count: Mutex<Count>,
    freed: Condvar,
    /// The process id. The threads that hold cores do not exist in a forked child, which counts in `of_child`.
    process: u32,
    of_child: OnceLock<Box<Cores>>,
}

struct Count {
    /// The number of unused cores. Negative if threads returned from the storage while all cores were in use, or if the
    /// limit was lowered.
    free: isize,
    all: isize,
}

/// The cores of the first process. A forked process uses [`Cores::of_child`] instead.
static CORES: OnceLock<Box<Cores>> = OnceLock::new();

fn all() -> isize {
    available_parallelism().map_or(1, |all| isize::try_from(all.get()).unwrap_or(isize::MAX))
}

thread_local! {
    static HAS_CORE: Cell<bool> = const { Cell::new(false) };
}

impl Cores {
    fn own() -> &'static Cores {
        let process = std::process::id();
        let mut slot = &CORES;
        loop {
            let cores = slot.get_or_init(|| Box::new(Cores::new(process)));
            if cores.process == process {
                return cores;
            }
            slot = &cores.of_child;
        }
    }

    fn new(process: u32) -> Cores {
        let count = Mutex::new(Count { free: all(), all: all() });
        Cores { count, freed: Condvar::new(), process, of_child: OnceLock::new() }
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_and_take(&self) {
        let count = self.freed.wait_while(self.count(), |count| count.free <= 0);
        count.unwrap_or_else(PoisonError::into_inner).free -= 1;
        HAS_CORE.set(true);
    }

    fn use_so_many(&self, all: isize) {
        let mut count = self.count();
        count.free += all - count.all;
        count.all = all;
        drop(count);
        self.freed.notify_all();
    }

    /// Takes a core without waiting: threads that hold all cores may wait for a lock of this thread.
    fn take_back(&self) {
        self.count().free -= 1;
        HAS_CORE.set(true);
    }

    fn give_back(&self) {
        HAS_CORE.set(false);
        self.count().free += 1;
        self.freed.notify_one();
    }
}

/// Calls a function when it is dropped, also during a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Sets how many cores this process uses to decode and encode (default: all). All stores share them.
pub fn use_cores(count: Option<usize>) {
    let count = count.map_or_else(all, |count| isize::try_from(count.max(1)).unwrap_or(isize::MAX));
    Cores::own().use_so_many(count);
}

/// Runs `compute` while holding a core. The caller must not hold a lock that `compute` takes in another thread.
pub(crate) fn on_a_core<T>(compute: impl FnOnce() -> T) -> T {
    if HAS_CORE.get() {
        return compute();
    }
    let cores = Cores::own();
    cores.wait_and_take();
    let _core = OnDrop(|| cores.give_back());
    compute()
}

/// Runs `transfer` without the core of this thread, if it holds one. The caller may hold locks.
pub(crate) fn off_the_core<T>(transfer: impl FnOnce() -> T) -> T {
    if !HAS_CORE.get() {
        return transfer();
    }
    let cores = Cores::own();
    cores.give_back();
    let _core = OnDrop(|| cores.take_back());
    transfer()
}

/// Makes the tests that count cores run one at a time.
#[cfg(test)]
pub(crate) static COUNTING: Mutex<()> = Mutex::new(());

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn threads_wait_for_cores_and_return_them() {
        let _alone = COUNTING.lock();
        let computing = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        let compute = || {
            most.fetch_max(computing.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            computing.fetch_sub(1, Ordering::SeqCst);
        };
        let threads = 4 * all().unsigned_abs();
        for count in [None, Some(1), Some(3)] {
            use_cores(count);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| (0..50).for_each(|_| on_a_core(|| on_a_core(compute))));
                }
            });
            let all = count.unwrap_or(all().unsigned_abs());
            assert!((1..=all).contains(&most.swap(0, Ordering::SeqCst)), "{count:?}");
        }
        use_cores(None);

        // A thread that reads holds a lock that computing threads wait for.
        let lock = Mutex::new(());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..50 {
                        on_a_core(|| {
                            let _lock = lock.lock();
                            off_the_core(std::thread::yield_now);
                        });
                    }
                });
            }
        });

        let broken = || on_a_core(|| off_the_core(|| std::panic::resume_unwind(Box::new(()))));
        assert!(std::panic::catch_unwind(broken).is_err() && !HAS_CORE.get());
        assert_eq!(Cores::own().count().free, all());
    }
}
