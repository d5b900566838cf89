//! A run's end before all is done, if its caller wants it.
//!
//! The caller is asked before each part, of some 64 KiB or one unit, on the thread that takes it: a task of a run on
//! one thread is all of the work, so tasks would be too large. A run that asks nobody is the same code.

use std::sync::atomic::{AtomicBool, Ordering};

use trundle_core::{Error, Result};

/// Asks whether a run shall go on, on whichever thread, until the answer is no once.
pub(crate) struct Cancellation<'a> {
    /// `None` for runs that nobody stops: small ones take so little time that a call would be seen.
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

    /// Whether nothing more shall be begun.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        let Some(go_on) = self.go_on else { return false };
        // No is the last answer: who says no once is not asked again.
        let stopped = self.stopped.load(Ordering::Relaxed) || !go_on();
        if stopped {
            self.stopped.store(true, Ordering::Relaxed);
        }
        stopped
    }

    /// Whether a run that has ended came to its end.
    #[inline]
    pub(crate) fn outcome(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}
