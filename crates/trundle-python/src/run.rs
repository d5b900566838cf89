//! Runs of plans: without the interpreter's lock if they are long, and until Ctrl-C.
//!
//! A long run asks whether it shall go on, on whichever thread moves the next part; the caller's thread
//! answers, by looking for signals now and then.

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

/// Up to so many bytes in the result and between passes, a move takes less time than to give the
/// lock up and get it back.
const MOST_BYTES_WITH_LOCK: usize = 32 << 10;

/// Up to so many bytes, a move is over before anybody could want to stop it.
const MOST_BYTES_UNSTOPPED: usize = 16 << 20;

/// How often a long move asks whether it shall stop.
pub(crate) const BETWEEN_ASKS: Duration = Duration::from_millis(50);

/// The ends of a move: what is read, and what is written.
struct Ends<Read> {
    src: Read,
    dst: Extent,
}

// SAFETY: whoever runs the move holds the arrays, and these are only their addresses.
unsafe impl<Read> Send for Ends<Read> {}

/// Asked by a run whether it goes on.
type GoOn<'a> = Option<&'a (dyn Fn() -> bool + Sync)>;

/// Moves the elements of `src` to `dst`, for which `plan` is made. They do not overlap.
///
/// # Errors
/// What a signal handler raises, as KeyboardInterrupt; the result is incomplete then.
pub(crate) fn run(py: Python<'_>, plan: &Plan, src: Extent, dst: Extent) -> PyResult<()> {
    if src.bytes == 0 || dst.bytes == 0 {
        return Ok(());
    }
    let ends = Ends { src: src.on_cpu(), dst: dst.on_cpu() };
    run_of(py, dst.bytes.max(plan.scratch_bytes()), move |go_on| ends.run(plan, go_on))
}

/// Moves the elements of one memory within it. This is not stopped: Ctrl-C waits for its end.
pub(crate) fn run_in_place(py: Python<'_>, plan: &InPlacePlan, memory: Extent) -> PyResult<()> {
    let within = Within(memory.on_cpu());
    run_of(py, MOST_BYTES_WITH_LOCK + 1, move |_| within.run(plan))
}

/// The bytes of an array that is moved within itself.
struct Within(Extent);

// SAFETY: whoever runs the move holds the array, and this is only its address.
unsafe impl Send for Within {}

impl Within {
    fn run(self, plan: &InPlacePlan) -> Result<(), Error> {
        let Extent { start, bytes, .. } = self.0;
        // SAFETY: as of `Ends::run`; there is only one array.
        plan.run(unsafe { std::slice::from_raw_parts_mut(start, bytes) })
    }
}

/// Makes `dst` of the elements of several arrays, for which `plan` is made. None of them overlaps it.
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
    let src: SmallVec<[Extent; 4]> = src.iter().map(|extent| extent.on_cpu()).collect();
    let ends = Ends { src, dst: dst.on_cpu() };
    run_of(py, dst.bytes.max(plan.scratch_bytes()), move |go_on| ends.run_program(plan, go_on))
}

/// Does the work of a run of so many bytes.
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

/// Whether this is Python's main thread, the only one that handles signals. Others must not look for
/// them: the interpreter may end while they move.
pub(crate) fn handles_signals(py: Python<'_>) -> PyResult<bool> {
    static MAIN_THREAD: Lazy<Py<PyAny>> = Lazy::new();
    static CURRENT_THREAD: Lazy<Py<PyAny>> = Lazy::new();
    let main = MAIN_THREAD.import(py, "threading", "main_thread")?.call0()?;
    Ok(CURRENT_THREAD.import(py, "threading", "current_thread")?.call0()?.is(&main))
}

impl Ends<SmallVec<[Extent; 4]>> {
    fn run_program(self, plan: &ProgramPlan, go_on: GoOn<'_>) -> Result<(), Error> {
        let Ends { src, dst } = self;
        // Of no elements there may be no address either.
        let bytes = |of: &Extent| match of.bytes {
            0 => &[][..],
            // SAFETY: as of `Ends::run`, for each array.
            bytes => unsafe { std::slice::from_raw_parts(of.start.cast_const(), bytes) },
        };
        let src: SmallVec<[&[u8]; 4]> = src.iter().map(bytes).collect();
        // SAFETY: the bytes that the result reaches, which the caller holds; no other overlaps them.
        let dst = unsafe { std::slice::from_raw_parts_mut(dst.start, dst.bytes) };
        match go_on {
            Some(go_on) => plan.run_while(&src, dst, go_on),
            None => plan.run(&src, dst),
        }
    }
}

impl Ends<Extent> {
    fn run(self, plan: &Plan, go_on: GoOn<'_>) -> Result<(), Error> {
        let Ends { src, dst } = self;
        // SAFETY: both are the bytes that an array reaches, which the caller holds; they do not
        // overlap. Who writes to an array while it is moved gets elements torn, as in numpy.
        let (src, dst) = unsafe {
            let src = std::slice::from_raw_parts(src.start, src.bytes);
            (src, std::slice::from_raw_parts_mut(dst.start, dst.bytes))
        };
        match go_on {
            Some(go_on) => plan.run_while(src, dst, go_on),
            None => plan.run(src, dst),
        }
    }
}

/// The thread that waits for a move, and handles signals now and then.
struct Caller {
    thread: thread::ThreadId,
    asked: Mutex<Instant>,
    stopped: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Caller {
    fn new() -> Caller {
        Caller {
            thread: thread::current().id(),
            asked: Mutex::new(Instant::now()),
            stopped: AtomicBool::new(false),
            raised: Mutex::new(None),
        }
    }

    /// Whether the move goes on: asked on every thread that takes part, answered by the caller's.
    fn goes_on(&self) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return false;
        }
        if thread::current().id() != self.thread {
            return true;
        }
        // Only this thread has either lock.
        let (Ok(mut asked), Ok(mut raised)) = (self.asked.try_lock(), self.raised.try_lock())
        else {
            return true;
        };
        if asked.elapsed() < BETWEEN_ASKS {
            return true;
        }
        let signals = signals();
        *asked = Instant::now();
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

/// Runs the handlers of signals that have come, as Ctrl-C; for callers without the interpreter lock.
///
/// # Errors
/// What a handler raises, as `KeyboardInterrupt`.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, and the call wants one for all"
)]
pub(crate) fn signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
