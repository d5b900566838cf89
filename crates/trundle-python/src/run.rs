//! Runs plans. A long run releases the GIL and can be interrupted by Ctrl-C.
//!
//! Before each part of a long run, threads check whether it continues. The calling thread also checks for signals at
//! intervals.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use smallvec::SmallVec;
use trundle::{Error, InPlacePlan, Plan, ProgramPlan};

use crate::error::refused;
use crate::lazy::Lazy;
use crate::memory::Extent;

/// Smaller moves keep the GIL, because releasing and reacquiring it would take longer.
const MOST_BYTES_WITH_LOCK: usize = 32 << 10;

/// Smaller moves are too short to be interrupted.
const MOST_BYTES_UNSTOPPED: usize = 16 << 20;

pub(crate) const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// Whether a run continues.
type GoOn<'a> = Option<&'a (dyn Fn() -> bool + Sync)>;

/// `src` and `dst` have the layouts of `plan` and must not overlap.
///
/// # Errors
/// The exceptions of signal handlers, such as KeyboardInterrupt; the result is incomplete in this case.
pub(crate) fn run(py: Python<'_>, plan: &Plan, src: Extent, dst: Extent) -> PyResult<()> {
    if src.bytes == 0 || dst.bytes == 0 {
        return Ok(());
    }
    // SAFETY: both extents are the bytes of arrays that the caller holds, and do not overlap.
    let (src, dst) = unsafe { (to_read(src), to_write(dst)) };
    run_of(py, dst.len().max(plan.scratch_bytes()), move |go_on| match go_on {
        Some(go_on) => plan.run_while(src, dst, go_on),
        None => plan.run(src, dst),
    })
}

/// The run cannot be interrupted: Ctrl-C takes effect when it ends.
pub(crate) fn run_in_place(py: Python<'_>, plan: &InPlacePlan, memory: Extent) -> PyResult<()> {
    // SAFETY: the bytes of an array that the caller holds.
    let bytes = unsafe { to_write(memory) };
    run_of(py, MOST_BYTES_WITH_LOCK + 1, move |_| plan.run(bytes))
}

/// No array may overlap `dst`.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_program(
    py: Python<'_>,
    plan: &ProgramPlan,
    src: &[Extent],
    dst: Extent,
) -> PyResult<()> {
    if dst.bytes == 0 {
        return Ok(());
    }
    // SAFETY: the extents are the bytes of arrays that the caller holds; no source overlaps the result.
    let (src, dst): (SmallVec<[&[u8]; 4]>, _) =
        unsafe { (src.iter().map(|extent| to_read(*extent)).collect(), to_write(dst)) };
    run_of(py, dst.len().max(plan.scratch_bytes()), move |go_on| match go_on {
        Some(go_on) => plan.run_while(&src, dst, go_on),
        None => plan.run(&src, dst),
    })
}

/// Returns the bytes of an array on the CPU. The address of an empty array may be null. If another thread writes to
/// the array during a move, an element may be a mixture of old and new bytes, as in numpy.
///
/// # Safety
/// The caller must hold the array during `'a`.
pub(crate) unsafe fn to_read<'a>(extent: Extent) -> &'a [u8] {
    let Extent { start, bytes, .. } = extent.on_cpu();
    match bytes {
        0 => &[],
        // SAFETY: the bytes of the array, which lives by the contract of this function.
        _ => unsafe { std::slice::from_raw_parts(start, bytes) },
    }
}

/// Returns the bytes of an array on the CPU that is written.
///
/// # Safety
/// As [`to_read`]. The array must not overlap another one that is read or written during `'a`.
pub(crate) unsafe fn to_write<'a>(extent: Extent) -> &'a mut [u8] {
    let Extent { start, bytes, .. } = extent.on_cpu();
    match bytes {
        0 => &mut [],
        // SAFETY: as in `to_read`.
        _ => unsafe { std::slice::from_raw_parts_mut(start, bytes) },
    }
}

/// `work` writes this many bytes.
pub(crate) fn run_of(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(GoOn<'_>) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let moved = if bytes <= MOST_BYTES_WITH_LOCK {
        work(None)
    } else if bytes <= MOST_BYTES_UNSTOPPED || !handles_signals(py)? {
        py.detach(move || work(None))
    } else {
        let caller = Caller::new();
        let go_on = || caller.goes_on();
        let moved = py.detach(move || work(Some(&go_on)));
        if let Some(raised) = caller.raised() {
            return Err(raised);
        }
        moved
    };
    moved.map_err(|error| refused(py, &error))
}

/// Only Python's main thread handles signals. Others must not check, because the interpreter may be finalised during
/// their run.
pub(crate) fn handles_signals(py: Python<'_>) -> PyResult<bool> {
    static MAIN_THREAD: Lazy<Py<PyAny>> = Lazy::new();
    static CURRENT_THREAD: Lazy<Py<PyAny>> = Lazy::new();
    let main = MAIN_THREAD.import(py, "threading", "main_thread")?.call0()?;
    Ok(CURRENT_THREAD.import(py, "threading", "current_thread")?.call0()?.is(&main))
}

/// The calling thread, which checks for signals at intervals.
struct Caller {
    thread: thread::ThreadId,
    checked: Mutex<Instant>,
    stopped: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Caller {
    fn new() -> Caller {
        Caller {
            thread: thread::current().id(),
            checked: Mutex::new(Instant::now()),
            stopped: AtomicBool::new(false),
            raised: Mutex::new(None),
        }
    }

    /// All threads call this; only the caller's checks for signals.
    fn goes_on(&self) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return false;
        }
        if thread::current().id() != self.thread {
            return true;
        }
        // Only this thread takes these locks.
        let (Ok(mut checked), Ok(mut raised)) = (self.checked.try_lock(), self.raised.try_lock())
        else {
            return true;
        };
        if checked.elapsed() < BETWEEN_CHECKS {
            return true;
        }
        let signals = signals();
        *checked = Instant::now();
        if let Err(error) = signals {
            *raised = Some(error);
            self.stopped.store(true, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn raised(self) -> Option<PyErr> {
        self.raised.into_inner().ok().flatten()
    }
}

/// Runs the handlers of pending signals such as Ctrl-C. The caller does not hold the GIL.
///
/// # Errors
/// The exceptions of handlers, such as `KeyboardInterrupt`.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, and the call wants one for all"
)]
pub(crate) fn signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
