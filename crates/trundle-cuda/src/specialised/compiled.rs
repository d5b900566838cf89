//! Texts of kernels, and whether they are compiled.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUstreamCaptureMode};

use super::Specialise;
use super::disk::KernelFolder;
use super::nvrtc::Nvrtc;
use super::warning::warn;
use crate::context::Context;
use crate::failure::message_of;
use crate::stream::Stream;

/// The text of a kernel, which plans share. The same text may be launched with different grids.
pub(crate) struct Compiled {
    text: Arc<str>,
    context: &'static Context,
    nvrtc: &'static Nvrtc,
    state: Mutex<State>,
}

enum State {
    /// Not compiled. The number of runs that would have used it.
    Waiting {
        runs: u32,
    },
    /// A thread compiles it.
    Compiling,
    /// Compiled or read from the cache, but not yet on the device.
    Cubin(Vec<u8>),
    Loaded(Function),
    Failed(String),
}

/// A function of a module that is never unloaded, because graphs may contain launches of it.
#[derive(Clone, Copy)]
pub(crate) struct Function(pub(crate) sys::CUfunction);

// SAFETY: by the documentation of the driver, functions may be launched from any thread.
unsafe impl Send for Function {}

/// The number of runs after which a kernel is compiled in the background.
const RUNS: u32 = 3;

impl Compiled {
    /// The function, if a run on `stream` can use it now. Compiles and loads it if it is time for it, but not while the
    /// stream is captured into a graph, since the driver may refuse to load modules then. `is_run` is false while a
    /// move is planned.
    pub(crate) fn function(
        self: &Arc<Compiled>,
        stream: Stream,
        when: Specialise,
        is_run: bool,
    ) -> Option<Function> {
        let mut state = match when {
            Specialise::Never => return None,
            // Another thread loads it, or waits for the compiler.
            Specialise::Later => self.state.try_lock().ok()?,
            Specialise::Now => self.state(),
        };
        let is_time = match &mut *state {
            State::Loaded(function) => return Some(*function),
            State::Failed(_) => false,
            State::Cubin(_) => true,
            State::Compiling => when == Specialise::Now,
            State::Waiting { runs } => {
                *runs += u32::from(is_run);
                *runs >= RUNS || when == Specialise::Now
            }
        };
        if !is_time || stream.check_no_capture("").is_err() {
            return None;
        }
        if let State::Cubin(cubin) = &*state {
            *state = self.loaded(cubin);
        } else if when == Specialise::Later {
            self.nvrtc.prepare(self.context.capability);
            *state = match compile_later(Arc::clone(self)) {
                true => State::Compiling,
                false => failed("a thread for the compiler could not be started".to_owned()),
            };
        } else {
            *state = self.cubin().map_or_else(failed, |cubin| self.loaded(&cubin));
        }
        match &*state {
            State::Loaded(function) => Some(*function),
            _ => None,
        }
    }

    /// Compiles the text.
    fn cubin(&self) -> Result<Vec<u8>, String> {
        let cubin = self.nvrtc.cubin(&self.text, self.context.capability)?;
        self.context.kernels.folder.keep(&self.key(), &cubin);
        Ok(cubin)
    }

    /// What a cubin depends on.
    fn key(&self) -> String {
        let (capability, [major, minor]) = (self.context.capability, self.nvrtc.version);
        format!("sm_{capability}, NVRTC {major}.{minor}\n{}", self.text)
    }

    fn loaded(&self, cubin: &[u8]) -> State {
        self.load(cubin).map_or_else(|error| failed(message_of(error)), State::Loaded)
    }

    fn load(&self, cubin: &[u8]) -> Result<Function, DriverError> {
        let _current = self.context.current()?;
        let _relaxed = Relaxed::new()?;
        // SAFETY: the bytes are a whole cubin, and a context is current.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast::<c_void>())? };
        // SAFETY: the module was just loaded.
        unsafe { result::module::get_function(module, c"moved".to_owned()) }.map(Function)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(reason: String) -> State {
    warn(format!("a kernel for this GPU cannot be used, and moves are right but slower: {reason}"));
    State::Failed(reason)
}

/// Compiles on a thread of its own, one kernel after another. Returns false if there is no such thread.
fn compile_later(kernel: Arc<Compiled>) -> bool {
    static WORKER: OnceLock<Sender<Arc<Compiled>>> = OnceLock::new();
    let worker = WORKER.get_or_init(|| {
        let (sender, kernels) = channel::<Arc<Compiled>>();
        let compile = move || {
            for kernel in kernels {
                let cubin = kernel.cubin().map_or_else(failed, State::Cubin);
                let mut state = kernel.state();
                // A plan with `Specialise::Now` may have been faster.
                if matches!(*state, State::Compiling) {
                    *state = cubin;
                }
            }
        };
        // Without a thread, the receiver is dropped.
        let _ = std::thread::Builder::new().name("trundle-nvrtc".to_owned()).spawn(compile);
        sender
    });
    worker.send(kernel).is_ok()
}

/// Lets this thread load a module although another thread captures a stream, which does not concern the module.
struct Relaxed {
    before: CUstreamCaptureMode,
}

impl Relaxed {
    fn new() -> Result<Relaxed, DriverError> {
        let mut before = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer points to a local variable.
        unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut before) }.result()?;
        Ok(Relaxed { before })
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: the pointer points to a field.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut self.before) }.result();
    }
}

/// The kernels of a context.
pub(crate) struct Kernels {
    known: Mutex<HashMap<Arc<str>, Arc<Compiled>>>,
    folder: KernelFolder,
}

/// More kernels than a program is likely to have. Loaded ones are never unloaded.
const MOST_KERNELS: usize = 1000;

impl Kernels {
    pub(crate) fn new() -> Kernels {
        Kernels { known: Mutex::default(), folder: KernelFolder::of_environment() }
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.known.lock().unwrap().len()
    }

    /// Returns the entry of a text, or `None` if there are too many.
    pub(crate) fn entry(
        context: &'static Context,
        nvrtc: &'static Nvrtc,
        text: String,
    ) -> Option<Arc<Compiled>> {
        let Kernels { known, folder } = &context.kernels;
        let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let text: Arc<str> = text.into();
        if let Some(entry) = known().get(&text) {
            return Some(Arc::clone(entry));
        }
        let state = Mutex::new(State::Waiting { runs: 0 });
        let entry = Compiled { text: Arc::clone(&text), context, nvrtc, state };
        if let Some(cubin) = folder.read(&entry.key()) {
            *entry.state() = State::Cubin(cubin);
        }
        let mut known = known();
        if known.len() >= MOST_KERNELS {
            let is_waiting = |entry: &Compiled| {
                entry.state.try_lock().is_ok_and(|state| matches!(*state, State::Waiting { .. }))
            };
            known.retain(|_, entry| !is_waiting(entry));
        }
        (known.len() < MOST_KERNELS)
            .then(|| Arc::clone(known.entry(text).or_insert(Arc::new(entry))))
    }
}

impl fmt::Display for Compiled {
    /// Example: `compiled after 3 runs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(_) => return f.write_str("being compiled"),
        };
        match &*state {
            State::Waiting { .. } => write!(f, "compiled after {RUNS} runs"),
            State::Compiling => f.write_str("being compiled"),
            State::Cubin(_) => f.write_str("loaded by the next run outside graph captures"),
            State::Loaded(_) => f.write_str("used"),
            State::Failed(reason) => write!(f, "not used: {reason}"),
        }
    }
}
