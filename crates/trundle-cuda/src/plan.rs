//! How a move is done on a device.

use std::fmt;
use std::sync::Arc;

use trundle_core::{Error, Move, Result};
use trundle_gpu::GpuMove;

use crate::driver::Context;
use crate::launch::{Launch, Misaligned};
use crate::prepared::Prepared;
use crate::{Cuda, CudaBuffer, DeviceBytes};

/// How a move is done on a device: it prints itself. What its kernels read beside the source is in the device's memory.
pub struct CudaPlan {
    /// What is launched, or why that cannot be.
    prepared: Result<(Prepared, Option<CudaBuffer>)>,
    work: GpuMove,
    context: Arc<Context>,
}

impl CudaPlan {
    pub(crate) fn new(cuda: &Cuda, work: &Move) -> CudaPlan {
        let prepared = Prepared::of(work).and_then(|(prepared, numbers)| {
            let numbers = match numbers.all() {
                [] => None,
                numbers => Some(CudaBuffer::of(cuda, numbers)?),
            };
            Ok((prepared, numbers))
        });
        CudaPlan { prepared, work: GpuMove::of(work), context: Arc::clone(&cuda.context) }
    }

    /// How the move is done, whatever the device is.
    pub fn gpu_move(&self) -> &GpuMove {
        &self.work
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// What is launched between buffers of so many bytes.
    pub(crate) fn prepared(&self, src: usize, dst: usize) -> Result<&Prepared> {
        let (prepared, _) = self.prepared.as_ref().map_err(Error::clone)?;
        prepared.work.check(src, dst).map(|()| prepared)
    }

    /// One of its launches.
    pub(crate) fn launch(&self, at: usize, src: DeviceBytes, dst: DeviceBytes) -> Result<Launch> {
        let (prepared, numbers) = self.prepared.as_ref().map_err(Error::clone)?;
        let numbers = numbers.as_ref().map_or(0, |numbers| numbers.device_bytes().address);
        let launch = prepared.launch(at, Misaligned::between(src, dst))?;
        Ok(launch.between(src, dst, numbers))
    }
}

impl fmt::Display for CudaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (work, device) = (&self.work, &self.context.name);
        let launches = work.blocks().len();
        let plural = if launches == 1 { "" } else { "es" };
        write!(f, "{launches} launch{plural} on {device}: {work}")
    }
}

impl fmt::Debug for CudaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaPlan({self})")
    }
}
