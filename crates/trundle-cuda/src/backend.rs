//! A device as a backend.

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Result};

use crate::launch::Ends;
use crate::{Cuda, CudaBuffer, CudaPlan};

/// The launches that are given to a device at once: a part of the work, before which a run may be stopped.
const LAUNCHES: usize = 64;

impl Backend for Cuda {
    type Buffer = CudaBuffer;
    type Plan = CudaPlan;

    /// Decides how `work` is done, and gives the device what its kernels read beside the source. If it has no memory for
    /// that, runs of the plan say so.
    fn plan(&self, work: &Move) -> CudaPlan {
        CudaPlan::new(self.stream, work)
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

    /// Begins the work on the stream, and waits for nothing: [`Cuda::wait`] and [`Cuda::read`] do. It is one launch for each
    /// block, and no more.
    ///
    /// A plan with tables ([`CudaPlan::has_tables`]) is run on the stream that it was made on, since its tables come and go in
    /// the order of that, and others on any stream of their device; buffers are of the stream that they are run on. All else
    /// is [`Error::DeviceFailed`] before anything is begun. So are a plan with tables, and buffers of its own, while the stream
    /// is captured into a graph, since they may be gone when that is replayed. Other plans between borrowed buffers are
    /// captured as any kernels are.
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
        for some in plan.launches_between(&ends)?.chunks(LAUNCHES) {
            if !go_on() {
                // What was begun ends.
                self.wait()?;
                return Err(Error::Stopped);
            }
            // SAFETY: both buffers have the bytes that are needed, and one is borrowed for this alone. Memory of their own, and
            // the plan's tables, are given back in the order of this stream, and that of the caller is there until it has
            // done this.
            unsafe { self.stream.launch(some, &ends)? };
        }
        Ok(())
    }
}
