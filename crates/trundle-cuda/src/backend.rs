//! A device as a backend.

use std::convert::Infallible;

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Result};

use crate::{Cuda, CudaBuffer, CudaPlan};

/// The launches that are given to a device at once: a part of the work, before which a run may be stopped.
const LAUNCHES: usize = 64;

impl Backend for Cuda {
    type Buffer = CudaBuffer;
    type Plan = CudaPlan;
    type FilledPlan = Infallible;
    type InPlacePlan = Infallible;

    /// Decides how `work` is done, and gives the device what its kernels read beside the source. If it has no memory for
    /// that, runs of the plan say so.
    fn plan(&self, work: &Move) -> CudaPlan {
        CudaPlan::new(self, work)
    }

    fn budget(&self) -> Budget {
        trundle_gpu::budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<CudaBuffer>> {
        CudaBuffer::new(self, bytes).map(Box::new)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<CudaBuffer>> {
        CudaBuffer::of(self, bytes).map(Box::new)
    }

    fn bytes_of(&self, buffer: &CudaBuffer) -> usize {
        buffer.device_bytes().bytes
    }

    /// It returns when the device has been given the work, on the default stream: [`Cuda::wait`] waits for it, and
    /// [`Cuda::read`] does, too.
    fn run_while(
        &self,
        plan: &CudaPlan,
        src: &CudaBuffer,
        dst: &mut CudaBuffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let launches = plan.gpu_move().blocks().len();
        // One without work is checked, too.
        for first in (0..launches.max(1)).step_by(LAUNCHES) {
            if !go_on() {
                // What was begun ends.
                self.wait()?;
                return Err(Error::Stopped);
            }
            self.run_some(plan, first..launches.min(first + LAUNCHES), src, dst)?;
        }
        Ok(())
    }
}
