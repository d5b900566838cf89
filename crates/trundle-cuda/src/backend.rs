//! Implements [`Backend`] for CUDA devices.

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Result};

use crate::launch::Ends;
use crate::{Cuda, CudaBuffer, CudaPlan};

/// Number of launches submitted between two checks of `go_on`.
const LAUNCHES: usize = 64;

impl Backend for Cuda {
    type Buffer = CudaBuffer;
    type Plan = CudaPlan;

    /// Plans `work`, and copies the tables of its kernels to the device. If the copy fails, runs of the plan return its
    /// error. The setting [`Cuda::specialise`] determines when kernels are compiled for the plan.
    fn plan(&self, work: &Move) -> CudaPlan {
        CudaPlan::new(self, work)
    }

    fn budget(&self) -> Budget {
        trundle_gpu::budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<CudaBuffer>> {
        CudaBuffer::zeros(self.stream, bytes).map(Box::new)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<CudaBuffer>> {
        CudaBuffer::of(self.stream, bytes).map(Box::new)
    }

    fn bytes_of(&self, buffer: &CudaBuffer) -> usize {
        buffer.device_bytes().bytes
    }

    /// Enqueues the move on the stream, one launch per block, without waiting. Use [`Cuda::wait`] or [`Cuda::read`] to
    /// wait.
    ///
    /// Buffers must belong to this stream. A plan with tables ([`CudaPlan::has_tables`]) runs only on the stream for
    /// which it was made, because its tables are allocated and freed in the order of that stream. Other plans run on
    /// any stream of their device.
    ///
    /// While the stream is captured into a graph, only plans without tables can run, and only with borrowed buffers
    /// ([`Cuda::borrowed`]). Tables and owned buffers may be freed before the graph is replayed.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if a buffer or a plan violates these rules. Nothing has been enqueued then.
    /// [`Error::Stopped`] if `go_on` returns false. The launches that were enqueued before have finished then.
    fn run_while(
        &self,
        plan: &CudaPlan,
        src: &CudaBuffer,
        dst: &mut CudaBuffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        self.check_buffers(&[src, dst])?;
        plan.check_stream(self.stream)?;
        let (src, dst) = (src.device_bytes(), dst.device_bytes());
        let ends = Ends { src, dst, numbers: plan.numbers()? };
        plan.check_sizes(&ends)?;
        let kernels = plan.kernels(self.stream, &ends);
        let launches = plan.launches_between(&ends, &kernels)?;
        for some in plan.starts(&launches, &kernels).chunks(LAUNCHES) {
            if !go_on() {
                // The launches before must finish before the caller reuses the buffers.
                self.wait()?;
                return Err(Error::Stopped);
            }
            // SAFETY: both buffer sizes were checked, and `dst` is borrowed exclusively. Owned buffers
            // and the plan's tables are freed in stream order. The caller of `Cuda::borrowed` guarantees that
            // borrowed memory outlives the work.
            unsafe { self.stream.launch(some, &ends)? };
        }
        Ok(())
    }
}
