//! Runs a plan.

use std::num::NonZeroU64;

use trundle_core::{Error, Result};
use trundle_gpu::Window;
use wgpu::{BindGroup, BindGroupEntry, BindingResource, BufferBinding};

use crate::plan::{Bound, Prepared, Step};
use crate::{DeviceBuffer, Wgpu, WgpuPlan};

/// Number of launches submitted between two checks of `go_on`.
const LAUNCHES: usize = 64;

impl Wgpu {
    /// Submits all launches of a plan, which have finished when the next [`wait`](Wgpu::wait) or read returns.
    pub(crate) fn launch_while(
        &self,
        plan: &WgpuPlan,
        src: &DeviceBuffer,
        dst: &DeviceBuffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        plan.work.check(src.bytes(), dst.bytes())?;
        let prepared = plan.prepared.as_ref().map_err(Clone::clone)?;
        for steps in prepared.steps.chunks(LAUNCHES) {
            if !go_on() {
                // The launches before must finish before the caller reuses the buffers.
                self.wait()?;
                return Err(Error::Stopped);
            }
            self.launch(prepared, steps, src, dst);
            self.faults.check()?;
        }
        Ok(())
    }

    fn launch(&self, prepared: &Prepared, steps: &[Step], src: &DeviceBuffer, dst: &DeviceBuffer) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        let mut bound: Option<(Bound, BindGroup)> = None;
        for step in steps {
            let group = match bound.take() {
                Some((same, group)) if same == step.bound => group,
                _ => self.bind(prepared, step.bound, src, dst),
            };
            pass.set_pipeline(&step.pipeline);
            pass.set_bind_group(0, &group, &[step.parameters]);
            pass.dispatch_workgroups(step.grid[0], step.grid[1], 1);
            bound = Some((step.bound, group));
        }
        drop(pass);
        self.queue.submit([encoder.finish()]);
    }

    fn bind(
        &self,
        prepared: &Prepared,
        bound: Bound,
        src: &DeviceBuffer,
        dst: &DeviceBuffer,
    ) -> BindGroup {
        let parameters = BufferBinding {
            buffer: &prepared.parameters,
            offset: 0,
            size: Some(prepared.parameter_bytes),
        };
        let resources = [
            window_of(&src.buffer, bound.src),
            window_of(&dst.buffer, bound.dst),
            BindingResource::Buffer(parameters),
            window_of(&prepared.tables, bound.tables),
        ];
        let entries = resources.into_iter().zip(0..);
        let entries = entries.map(|(resource, binding)| BindGroupEntry { binding, resource });
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipelines.bindings,
            entries: &entries.collect::<Vec<_>>(),
        })
    }
}

fn window_of(buffer: &wgpu::Buffer, window: Window) -> BindingResource<'_> {
    BindingResource::Buffer(BufferBinding {
        buffer,
        offset: window.offset as u64,
        size: NonZeroU64::new(window.bytes as u64),
    })
}
