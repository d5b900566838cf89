//! Moves on GPUs: on the stream on which an array's own library works, so that nothing waits and nothing is copied.

use std::fmt;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use smallvec::SmallVec;
use trundle::lowering::{Backend, Moves, ProgramMoves, Step};
use trundle::{Error, Layout, Program};
use trundle_cuda::{Cuda, CudaBuffer, CudaPlan, DeviceBytes};

use crate::error::refused;
use crate::memory::Extent;
use crate::place::{Gpu, Place};

/// A GPU by its number. The first time takes as long as the driver needs to make code of the kernels.
///
/// # Errors
/// RuntimeError with what was looked for.
fn opened(py: Python<'_>, ordinal: u32) -> PyResult<Cuda> {
    py.detach(|| Cuda::new(ordinal as usize))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// A GPU on the stream of a call.
fn on_stream(cuda: &Cuda, gpu: Gpu) -> Cuda {
    // SAFETY: the stream is the current one of the array's library on this GPU, which keeps it meanwhile; what is made on it
    // here is gone when the call returns.
    unsafe { cuda.on(gpu.stream) }
}

/// How something is made on a GPU.
#[derive(Debug)]
pub(crate) struct GpuPlan {
    cuda: Cuda,
    moves: ProgramMoves,
    /// The plan of the only move. One that reads tables, which come and go on a stream, is made for each run.
    only: Option<CudaPlan>,
}

impl GpuPlan {
    /// About the bytes that a plan fills.
    pub(crate) const OWN_BYTES: usize = 8 << 10;

    /// How `program` is done from inputs of these layouts.
    ///
    /// # Errors
    /// What is refused; RuntimeError if the GPU cannot be used.
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
        let only = only.map(|work| cuda.plan(work));
        Ok(GpuPlan { cuda, moves, only })
    }

    /// Begins it on the stream of a call; the extents are on its GPU.
    ///
    /// # Errors
    /// RuntimeError if the GPU fails, MemoryError if its memory has no room for what lies between two moves.
    pub(crate) fn run(&self, py: Python<'_>, inputs: &[Extent], out: Extent) -> PyResult<()> {
        let (Place::Gpu(gpu), false) = (out.place, out.bytes == 0) else { return Ok(()) };
        let cuda = on_stream(&self.cuda, gpu);
        let lent = |extent: &Extent| {
            let Extent { start, bytes, .. } = *extent;
            let address = start.expose_provenance() as u64;
            // SAFETY: the extent is an array's, which the caller holds during the call. Its library gives memory back in the
            // order of the stream, and so after what is begun here.
            unsafe { cuda.borrowed(DeviceBytes { address, bytes }) }
        };
        let inputs: SmallVec<[CudaBuffer; 2]> = inputs.iter().map(lent).collect();
        let mut out = lent(&out);
        // A launch may wait for room in a queue.
        py.detach(|| match (&self.only, &inputs[..]) {
            (Some(plan), [src]) => cuda.run(plan, src, &mut out),
            _ => {
                let inputs: SmallVec<[&CudaBuffer; 2]> = inputs.iter().collect();
                self.moves.runner(cuda.clone())?.run(&inputs, &mut [&mut out])
            }
        })
        .map_err(|error: Error| refused(py, &error))
    }

    /// How often elements are read and written: moves to one tensor count once.
    pub(crate) fn passes(&self) -> usize {
        self.moves.passes()
    }

    /// The bytes of the GPU's memory that a run takes between moves.
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
                Moves::Tiles(_) => f.write_str("in tiles, each planned when it is moved")?,
            }
        }
        Ok(())
    }
}

/// Memory of a GPU for a while, in the order of a stream.
pub(crate) struct GpuScratch {
    buffer: Box<CudaBuffer>,
    gpu: Gpu,
}

impl GpuScratch {
    /// New memory.
    ///
    /// # Errors
    /// MemoryError.
    pub(crate) fn new(py: Python<'_>, gpu: Gpu, bytes: usize) -> PyResult<GpuScratch> {
        let buffer = on_stream(&opened(py, gpu.ordinal)?, gpu).buffer(bytes);
        Ok(GpuScratch { buffer: buffer.map_err(|error| refused(py, &error))?, gpu })
    }

    pub(crate) fn extent(&self) -> Extent {
        let DeviceBytes { address, bytes } = self.buffer.device_bytes();
        let start = std::ptr::with_exposed_provenance_mut(address as usize);
        Extent { start, bytes, place: Place::Gpu(self.gpu) }
    }
}
