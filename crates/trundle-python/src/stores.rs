//! Stores and files that are moved without being in memory: what `trundle.zarr` is made of, and the program.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trundle_cli::functions::{self, Failed, SystemError};

use crate::error::system_error;
use crate::run::{BETWEEN_ASKS, handles_signals, signals};

fn raised(Failed { code, message, system }: Failed) -> PyErr {
    match system {
        Some(SystemError { number, kind, file }) => system_error(number, kind, &message, &file),
        None if code == 1 => PyOSError::new_err(message),
        None => PyValueError::new_err(message),
    }
}

/// Begin an output that numbered tasks write, and return their plan as text. `sharing` tasks at once share the memory.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "a list of Python becomes a vector")]
pub(crate) fn plan_tasks(py: Python<'_>, arguments: Vec<String>, sharing: i64) -> PyResult<String> {
    let count = usize::try_from(sharing).ok().and_then(NonZeroUsize::new);
    let sharing = count.ok_or_else(|| {
        PyValueError::new_err(format!("workers is {sharing}: at least 1 is needed"))
    })?;
    py.detach(|| functions::plan(&arguments, sharing)).map_err(raised)
}

/// A flag that stops tasks.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Stop the tasks that have the flag.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The stack of a thread that does the work of a command.
const STACK_BYTES: usize = 8 << 20;

/// Does `work`, which ends early when the flag is set. Python's main thread lets another thread do it, and looks for
/// signals meanwhile.
fn until_stopped<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl Fn(&AtomicBool) -> Result<T, Failed> + Sync,
) -> PyResult<T> {
    if !handles_signals(py)? {
        return py.detach(|| work(stop)).map_err(raised);
    }
    py.detach(|| {
        scope(|scope| {
            let (running, ended) = channel::<()>();
            let work = &work;
            let own = move || {
                let _running = running;
                work(stop)
            };
            let Ok(thread) = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, own) else {
                return work(stop).map_err(raised);
            };
            let mut interrupted = None;
            while ended.recv_timeout(BETWEEN_ASKS) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = signals() {
                    stop.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(error);
                }
            }
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match interrupted {
                Some(error) => Err(error),
                None => done.map_err(raised),
            }
        })
    })
}

/// Do a task of a plan; whether it was not done before.
#[pyfunction]
#[pyo3(signature = (plan, number, threads = None, stop = None))]
pub(crate) fn run_task(
    py: Python<'_>,
    plan: &str,
    number: usize,
    threads: Option<usize>,
    stop: Option<&Stop>,
) -> PyResult<bool> {
    let stop = stop.map(|stop| Arc::clone(&stop.0)).unwrap_or_default();
    until_stopped(py, &stop, |stop| functions::task(plan, number, threads, stop))
}

/// The tasks of a plan that are not done.
#[pyfunction]
pub(crate) fn missing_tasks(py: Python<'_>, plan: &str) -> PyResult<Vec<usize>> {
    py.detach(|| functions::missing(plan)).map_err(raised)
}

/// Let the output of a plan appear; whether it had not before.
#[pyfunction]
pub(crate) fn finish_tasks(py: Python<'_>, plan: &str) -> PyResult<bool> {
    until_stopped(py, &AtomicBool::new(false), |stop| functions::finish(plan, stop))
}

/// Remove what the tasks of a plan have done.
#[pyfunction]
pub(crate) fn discard_tasks(py: Python<'_>, plan: &str) -> PyResult<()> {
    py.detach(|| functions::discard(plan)).map_err(raised)
}

/// Run the program `trundle` with these arguments, the first of which is its name, and return its exit code.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| trundle_cli::run(arguments))
}
