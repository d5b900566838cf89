//! A device as a backend.

use trundle_core::program::Budget;
use trundle_core::{Backend, Move, Result};

use crate::{DeviceBuffer, Wgpu, WgpuPlan};

impl Backend for Wgpu {
    type Buffer = DeviceBuffer;
    type Plan = WgpuPlan;

    /// Decides how `work` is done, and gives the device what its kernels read beside the source. If it has no memory for
    /// that, runs of the plan say so.
    fn plan(&self, work: &Move) -> WgpuPlan {
        self.planned(work)
    }

    fn budget(&self) -> Budget {
        trundle_gpu::budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<DeviceBuffer>> {
        self.new_buffer(bytes).map(Box::new)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<DeviceBuffer>> {
        let mut buffer = self.buffer(bytes.len())?;
        self.write(&mut buffer, bytes)?;
        Ok(buffer)
    }

    fn bytes_of(&self, buffer: &DeviceBuffer) -> usize {
        buffer.bytes()
    }

    /// It returns when the device has been given the work, which is done in the order of calls: [`Wgpu::wait`] waits for it,
    /// and [`Wgpu::read`] does, too.
    fn run_while(
        &self,
        plan: &WgpuPlan,
        src: &DeviceBuffer,
        dst: &mut DeviceBuffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        self.launch_while(plan, src, dst, go_on)
    }
}
