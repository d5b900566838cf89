//! Native functions of `trundle.zarr`, and of the `trundle` program.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trundle_disk::Observer;
use trundle_files::addition::finish_earlier;
use trundle_files::decide::decide;
use trundle_files::failure::{Failure, Hint, Setting, SystemError};
use trundle_files::numbers::memory;
use trundle_files::request::{Operators, Request, Work};
use trundle_files::tasks::{Joined, PlanFile};
use trundle_formats::Shown;

use crate::error::system_error;
use crate::run::{BETWEEN_CHECKS, handles_signals, signals};

/// Hints have the names of keyword arguments; others are left out.
fn raised(failure: &Failure) -> PyErr {
    let mut message = failure.to_string();
    for Hint { setting, text } in failure.hints() {
        match setting {
            None => message.push_str(&format!("; {text}")),
            Some(Setting::Tensor) => message.push_str(&format!("; tensor=NAME {text}")),
            Some(Setting::Resume) => message.push_str(&format!("; resume=True {text}")),
            Some(Setting::Force) => message.push_str(&format!("; overwrite=True {text}")),
            // These settings have no keyword argument.
            Some(
                Setting::Dims
                | Setting::DType
                | Setting::FollowLinks
                | Setting::From
                | Setting::Offset
                | Setting::Only
                | Setting::To
                | Setting::Wait,
            ) => {}
        }
    }
    match failure.system() {
        Some(SystemError { number, kind, file }) => system_error(*number, *kind, &message, file),
        None if failure.code() == 1 => PyOSError::new_err(message),
        None => PyValueError::new_err(message),
    }
}

/// The keyword arguments of a plan, extracted from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    format: Option<String>,
    chunks: Option<String>,
    shards: Option<String>,
    codec: Option<String>,
    max_mem: Option<String>,
    task_size: Option<String>,
    tensor: Option<String>,
    workers: i64,
    metadata_only: bool,
    verify: bool,
    overwrite: bool,
    addition: Option<String>,
    ignore_attrs: Vec<String>,
    resume: bool,
}

fn value<T>(
    name: &str,
    text: Option<&String>,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> PyResult<Option<T>> {
    let wrong = |text: &str, why: &str| {
        PyValueError::new_err(format!("{name} is \"{}\": {}", Shown(text), Shown(why)))
    };
    text.map(|text| read(text).map_err(|why| wrong(text, &why))).transpose()
}

impl Options {
    /// Returns the request to apply a chain to `src` and write the result to `dst`.
    fn request(&self, src: PathBuf, chain: String, dst: PathBuf) -> PyResult<Request> {
        let operators = match chain.trim() {
            "" => Operators::Convert,
            _ => Operators::Chain(chain),
        };
        let mut request = Request::new(vec![src], Work::chain(operators));
        request.tensor = self.tensor.clone();
        request.output.format = value("format", self.format.as_ref(), str::parse)?;
        request.output.path = Some(dst);
        request.output.chunks = value("chunks", self.chunks.as_ref(), str::parse)?;
        request.output.shards = value("shards", self.shards.as_ref(), str::parse)?;
        request.output.codecs = value("codec", self.codec.as_ref(), str::parse)?;
        request.output.addition = value("append or region", self.addition.as_ref(), str::parse)?;
        request.output.ignored_attributes.clone_from(&self.ignore_attrs);
        request.output.metadata_only = self.metadata_only;
        request.output.verify = self.verify;
        request.output.overwrite = self.overwrite;
        request.output.resume = self.resume;
        request.resources.max_mem = value("max_mem", self.max_mem.as_ref(), memory)?;
        Ok(request)
    }
}

/// Begin an output that numbered tasks write, and return the plan as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "a dictionary of Python becomes its items")]
pub(crate) fn plan_tasks(
    py: Python<'_>,
    src: PathBuf,
    chain: String,
    dst: PathBuf,
    options: Options,
    stop: &Stop,
) -> PyResult<String> {
    let mut request = options.request(src, chain, dst)?;
    let task_size = value("task_size", options.task_size.as_ref(), memory)?;
    let workers = usize::try_from(options.workers).ok().and_then(NonZeroUsize::new);
    request.resources.sharing = Some(workers.ok_or_else(|| {
        let workers = options.workers;
        PyValueError::new_err(format!("workers must be 1 or more, got {workers}"))
    })?);
    until_stopped(py, stop, |stop| {
        let keep = |plan: PlanFile| match stop.load(Ordering::Relaxed) {
            true => Err(Failure::running("stopped")),
            false => plan.text(),
        };
        decide(request.clone())?.begin_tasks(PathBuf::new(), task_size, keep)
    })
}

/// Add to an existing store, or finish an addition that was interrupted. Return the number of bytes written.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "a dictionary of Python becomes its items")]
pub(crate) fn add_to(
    py: Python<'_>,
    src: PathBuf,
    chain: String,
    dst: PathBuf,
    options: Options,
    stop: &Stop,
) -> PyResult<u64> {
    let request = options.request(src, chain, dst)?;
    until_stopped(py, stop, |stop| {
        if finish_earlier(&request)? {
            return Ok(0);
        }
        Ok(decide(request.clone())?.run(&Stoppable(stop))?.bytes_written)
    })
}

/// `None` if the plan is finished.
fn joined<T>(
    plan: &str,
    threads: Option<usize>,
    work: impl FnOnce(Joined<'_>) -> Result<T, trundle_disk::Error>,
) -> Result<Option<T>, Failure> {
    let plan = PlanFile::parse(plan)?;
    plan.check_here()?;
    plan.join(threads, |joined| Ok(work(joined)?))
}

/// Prints nothing, and stops the run when its flag is set.
struct Stoppable<'a>(&'a AtomicBool);

impl Observer for Stoppable<'_> {
    fn phase(&self, _: &str, _: u64) {}

    fn advance(&self, _: u64) {}

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Stops running tasks.
#[pyclass(frozen)]
pub(crate) struct Stop {
    flag: AtomicBool,
    /// The `StoreObjects` (`_zarr_store.py`) that the tasks use.
    stores: Vec<Py<PyAny>>,
}

#[pymethods]
impl Stop {
    #[new]
    fn new(stores: Vec<Py<PyAny>>) -> Stop {
        Stop { flag: AtomicBool::new(false), stores }
    }

    /// Stop all tasks that were started with this flag, and their waiting calls of stores.
    fn set(&self, py: Python<'_>) -> PyResult<()> {
        self.flag.store(true, Ordering::Relaxed);
        self.stores.iter().try_for_each(|store| store.call_method0(py, "interrupt").map(drop))
    }
}

/// The stack size of the worker thread.
const STACK_BYTES: usize = 8 << 20;

/// `work` stops when the flag is set. On Python's main thread, it runs on another thread, while the main thread checks
/// for signals.
fn until_stopped<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl Fn(&AtomicBool) -> Result<T, Failure> + Sync,
) -> PyResult<T> {
    if !handles_signals(py)? {
        return py.detach(|| work(&stop.flag)).map_err(|failure| raised(&failure));
    }
    py.detach(|| {
        scope(|scope| {
            let (running, ended) = channel::<()>();
            let work = &work;
            let own = move || {
                let _running = running;
                work(&stop.flag)
            };
            let Ok(thread) = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, own) else {
                return work(&stop.flag).map_err(|failure| raised(&failure));
            };
            let mut interrupted = None;
            while ended.recv_timeout(BETWEEN_CHECKS) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = signals() {
                    interrupted.get_or_insert(error);
                }
                if interrupted.is_some() {
                    // Until the work ends, it may begin further calls of stores.
                    let _ = Python::attach(|py| stop.set(py));
                }
            }
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match interrupted {
                Some(error) => Err(error),
                None => done.map_err(|failure| raised(&failure)),
            }
        })
    })
}

/// Run a task of a plan. Return False if the task had been finished before.
#[pyfunction]
pub(crate) fn run_task(
    py: Python<'_>,
    plan: &str,
    number: usize,
    threads: Option<usize>,
    stop: &Stop,
) -> PyResult<bool> {
    until_stopped(py, stop, |stop| {
        let done = joined(plan, threads, |Joined { job, mut sources, .. }| {
            job.run(number, &mut sources, &Stoppable(stop))
        })?;
        Ok(done.unwrap_or(false))
    })
}

/// The numbers of the tasks that are not finished.
#[pyfunction]
pub(crate) fn missing_tasks(py: Python<'_>, plan: &str, stop: &Stop) -> PyResult<Vec<usize>> {
    let missing = until_stopped(py, stop, |_| joined(plan, None, |joined| joined.job.missing()))?;
    Ok(missing.unwrap_or_default())
}

/// Finish a plan, which makes its output visible. Return False if the plan had been finished before.
#[pyfunction]
pub(crate) fn finish_tasks(py: Python<'_>, plan: &str, stop: &Stop) -> PyResult<bool> {
    until_stopped(py, stop, |stop| {
        Ok(joined(plan, None, |joined| joined.job.finish(&Stoppable(stop)))?.is_some())
    })
}

/// Remove the unfinished output of a plan.
#[pyfunction]
pub(crate) fn discard_tasks(py: Python<'_>, plan: &str, stop: &Stop) -> PyResult<()> {
    until_stopped(py, stop, |_| {
        let plan = PlanFile::parse(plan)?;
        plan.check_here()?;
        plan.discard()
    })
}

/// Run the `trundle` program and return its exit code. The first argument is the program name.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| trundle_cli::run(arguments))
}
