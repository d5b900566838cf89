//! Moves on GPUs, on the stream of the array's library, without synchronisation and copies.

use std::ffi::CString;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning};
use pyo3::prelude::*;
use smallvec::SmallVec;
use trundle::lowering::{Backend, Moves, ProgramMoves, Step};
use trundle::{Error, Layout, Program};
use trundle_cuda::{Cuda, CudaBuffer, CudaPlan, DeviceBytes};

use crate::device::{ArrayDevice, Gpu};
use crate::error::refused;
use crate::memory::Extent;

/// Opens a GPU. In the first call, the driver compiles the kernels.
///
/// # Errors
/// RuntimeError with the names of the driver's libraries, if they are not found.
fn opened(py: Python<'_>, ordinal: u32) -> PyResult<Cuda> {
    static SEARCHED: AtomicBool = AtomicBool::new(false);
    if !SEARCHED.swap(true, Ordering::Relaxed) {
        trundle_cuda::search_nvrtc_in(nvrtc_folders(py)?);
    }
    py.detach(|| Cuda::new(ordinal as usize))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Returns the folders of the packages `nvidia-cuda-nvrtc`, which PyTorch and CuPy install too, and of conda.
fn nvrtc_folders(py: Python<'_>) -> PyResult<Vec<PathBuf>> {
    let sys = py.import("sys")?;
    let prefix: PathBuf = sys.getattr("prefix")?.extract()?;
    let mut folders = Vec::new();
    for entry in sys.getattr("path")?.try_iter()? {
        // Importers may add entries of other types.
        let Ok(packages) = entry?.extract::<PathBuf>() else { continue };
        let below = ["nvidia/cu13/lib", "nvidia/cu13/bin/x86_64", "nvidia/cuda_nvrtc/lib"];
        folders.extend(below.map(|folder| packages.join(folder)));
        folders.push(packages.join("nvidia/cuda_nvrtc/bin"));
    }
    folders.push(prefix.join(if cfg!(windows) { "Library/bin" } else { "lib" }));
    // A relative entry could be anyone's folder.
    folders.retain(|folder| folder.is_absolute() && folder.is_dir());
    Ok(folders)
}

/// Warns once in a process if kernels could not be compiled.
fn warn(py: Python<'_>) -> PyResult<()> {
    let Some(warning) = trundle_cuda::take_warning() else { return Ok(()) };
    let hint = "pip install 'trundle[cuda]' installs NVRTC, TRUNDLE_SPECIALISE=never avoids it";
    let text = CString::new(format!("{warning} ({hint})")).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}

fn on_stream(cuda: &Cuda, gpu: Gpu) -> Cuda {
    // SAFETY: the stream is the current one of the array's library on this GPU, and outlives the call.
    // All objects on this stream are dropped before the call returns.
    unsafe { cuda.on(gpu.stream) }
}

#[derive(Debug)]
pub(crate) struct GpuPlan {
    cuda: Cuda,
    moves: ProgramMoves,
    /// The plan, if there is only one move, without tables. A move with tables is planned for each run, because tables
    /// are allocated in stream order.
    only: Option<CudaPlan>,
}

impl GpuPlan {
    /// The approximate size of a plan in bytes.
    pub(crate) const OWN_BYTES: usize = 8 << 10;

    /// Plans `program` for inputs with these layouts.
    ///
    /// # Errors
    /// The errors of the program, and RuntimeError if the GPU cannot be used.
    pub(crate) fn new(
        py: Python<'_>,
        ordinal: u32,
        program: &Program,
        inputs: &[Layout],
        out: &Layout,
    ) -> PyResult<GpuPlan> {
        let cuda = opened(py, ordinal)?;
        let moves = ProgramMoves::new(program, inputs, out, &cuda.budget())
            .map_err(|error| refused(py, &error))?;
        let only = moves.only_move().filter(|work| !work.has_tables());
        // May load NVRTC and read compiled kernels.
        let only = py.detach(|| only.map(|work| cuda.plan(work)));
        Ok(GpuPlan { cuda, moves, only })
    }

    /// Enqueues the moves. The extents are on the GPU of the plan.
    ///
    /// # Errors
    /// RuntimeError if the GPU fails, MemoryError if there is not enough GPU memory for temporaries.
    pub(crate) fn run(&self, py: Python<'_>, inputs: &[Extent], out: Extent) -> PyResult<()> {
        let (ArrayDevice::Gpu(gpu), false) = (out.device, out.bytes == 0) else { return Ok(()) };
        let cuda = on_stream(&self.cuda, gpu);
        let borrowed = |extent: &Extent| {
            let Extent { start, bytes, .. } = *extent;
            let address = start.expose_provenance() as u64;
            // SAFETY: the extent belongs to an array that the caller holds during the call. Its library frees
            // memory in stream order, and therefore after the moves enqueued here.
            unsafe { cuda.borrowed(DeviceBytes { address, bytes }) }
        };
        let inputs: SmallVec<[CudaBuffer; 2]> = inputs.iter().map(borrowed).collect();
        let mut out = borrowed(&out);
        // A launch may block until the queue has room.
        py.detach(|| match (&self.only, &inputs[..]) {
            (Some(plan), [src]) => cuda.run(plan, src, &mut out),
            _ => {
                let inputs: SmallVec<[&CudaBuffer; 2]> = inputs.iter().collect();
                self.moves.runner(cuda.clone())?.run(&inputs, &mut [&mut out])
            }
        })
        .map_err(|error: Error| refused(py, &error))?;
        warn(py)
    }

    pub(crate) fn passes(&self) -> usize {
        self.moves.passes().len()
    }

    pub(crate) fn scratch_bytes(&self) -> usize {
        self.moves.temporary_bytes()
    }
}

impl fmt::Display for GpuPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.moves.steps();
        let moves = if steps.len() == 1 { "move" } else { "moves" };
        write!(f, "{} {moves} on {}", steps.len(), self.cuda.name())?;
        for Step { source, target, work } in steps {
            write!(f, "\nfrom {source} to {target}: ")?;
            match work {
                Moves::One(work) => trundle_gpu::GpuMove::of(work).fmt(f)?,
                Moves::Tiles(_) => f.write_str("in tiles; each is planned when it is moved")?,
            }
        }
        let specialised = self.only.as_ref().map(CudaPlan::specialised).unwrap_or_default();
        specialised.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// Stream-ordered scratch memory on a GPU.
pub(crate) struct GpuScratch {
    buffer: Box<CudaBuffer>,
    gpu: Gpu,
}

impl GpuScratch {
    /// Allocates scratch memory.
    ///
    /// # Errors
    /// MemoryError if the memory cannot be allocated.
    pub(crate) fn new(py: Python<'_>, gpu: Gpu, bytes: usize) -> PyResult<GpuScratch> {
        let buffer = on_stream(&opened(py, gpu.ordinal)?, gpu).buffer(bytes);
        Ok(GpuScratch { buffer: buffer.map_err(|error| refused(py, &error))?, gpu })
    }

    pub(crate) fn extent(&self) -> Extent {
        let DeviceBytes { address, bytes } = self.buffer.device_bytes();
        let start = std::ptr::with_exposed_provenance_mut(address as usize);
        Extent { start, bytes, device: ArrayDevice::Gpu(self.gpu) }
    }
}
