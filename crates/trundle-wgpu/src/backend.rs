//! Implements [`Backend`] for wgpu devices.

use trundle_core::program::Budget;
use trundle_core::{Backend, Move, Result};

use crate::{DeviceBuffer, Wgpu, WgpuPlan};

impl Backend for Wgpu {
    type Buffer = DeviceBuffer;
    type Plan = WgpuPlan;

    /// Plans `work`, and copies the tables of its kernels to the device. If the copy fails, runs of the plan return its
    /// error.
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

    /// Submits the move and returns without waiting. Moves run in order. Use [`Wgpu::wait`] or [`Wgpu::read`] to wait.
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
