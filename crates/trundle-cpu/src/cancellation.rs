//! Lets the caller stop a run early, by a callback that returns false.
//!
//! Each thread calls it before each part of about 64 KiB (or one unit, if that is larger). Once per task would not be
//! enough: with one thread, a single task does all the work.

use std::sync::atomic::{AtomicBool, Ordering};

use trundle_core::{Error, Result};

/// Calls a callback from any thread until it returns false once.
pub(crate) struct Cancellation<'a> {
    /// `None` if the run cannot be stopped. In a small run, the calls would take noticeable time.
    go_on: Option<&'a (dyn Fn() -> bool + Sync)>,
    stopped: AtomicBool,
}

impl<'a> Cancellation<'a> {
    #[inline]
    pub(crate) fn never() -> Cancellation<'a> {
        Cancellation { go_on: None, stopped: AtomicBool::new(false) }
    }

    pub(crate) fn when_not(go_on: &'a (dyn Fn() -> bool + Sync)) -> Cancellation<'a> {
        Cancellation { go_on: Some(go_on), ..Cancellation::never() }
    }

    /// Whether the caller has cancelled the run. No further part may begin then.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        let Some(go_on) = self.go_on else { return false };
        // After false, the callback is not called again.
        let stopped = self.stopped.load(Ordering::Relaxed) || !go_on();
        if stopped {
            self.stopped.store(true, Ordering::Relaxed);
        }
        stopped
    }

    #[inline]
    pub(crate) fn outcome(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}
