//! Values created on first use and never freed.

use std::sync::atomic::{AtomicPtr, Ordering};

/// A shared value that is created on first use. Unlike `OnceLock`, it uses no lock, because a lock that another thread
/// holds during a fork is never released in the child.
pub(crate) struct ForkSafe<T>(AtomicPtr<T>);

impl<T: Sync + 'static> ForkSafe<T> {
    pub(crate) const fn empty() -> ForkSafe<T> {
        ForkSafe(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Returns the stored value if `is_right` accepts it. Otherwise stores and returns the result of `make`, which must
    /// satisfy `is_right`. Threads that create a value at the same time all get the value that was stored first.
    pub(crate) fn get(
        &self,
        is_right: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> &'static T {
        let there = |pointer: *mut T| {
            // SAFETY: the pointer came from a box that is never freed, and T is Sync.
            unsafe { pointer.as_ref() }.filter(|value| is_right(value))
        };
        let before = self.0.load(Ordering::Acquire);
        if let Some(value) = there(before) {
            return value;
        }
        let made: &'static T = Box::leak(Box::new(make()));
        let pointer = std::ptr::from_ref(made).cast_mut();
        let swapped = self.0.compare_exchange(before, pointer, Ordering::AcqRel, Ordering::Acquire);
        // If another thread was faster, its value is used and `made` is leaked, which is rare.
        swapped.err().and_then(there).unwrap_or(made)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_value_is_made_once_while_it_is_valid() {
        static PLACE: ForkSafe<usize> = ForkSafe::empty();
        let made = AtomicUsize::new(0);
        let get = |wanted: usize| {
            *PLACE.get(
                |value| *value == wanted,
                || {
                    made.fetch_add(1, Ordering::Relaxed);
                    wanted
                },
            )
        };
        assert_eq!([get(3), get(3), get(4), get(4)], [3, 3, 4, 4]);
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn concurrent_threads_share_one_value() {
        static PLACE: ForkSafe<usize> = ForkSafe::empty();
        // All threads create a value before one is stored.
        let all_make = Barrier::new(8);
        let get = &|number: usize| {
            *PLACE.get(
                |_| true,
                || {
                    all_make.wait();
                    number
                },
            )
        };
        let values: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || get(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    }
}
