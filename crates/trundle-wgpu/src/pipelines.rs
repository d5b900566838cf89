//! The compiled kernels of a device.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use trundle_gpu::Kernel;
use wgpu::{
    BindGroupLayout, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline,
    PipelineLayout, ShaderStages,
};

use crate::source::source;

/// The compiled kernels: few, because launches of one kernel differ only in their parameters.
pub(crate) struct Pipelines {
    pub(crate) bindings: BindGroupLayout,
    layout: PipelineLayout,
    compiled: Mutex<HashMap<Kernel, ComputePipeline>>,
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device) -> Pipelines {
        let entry = |binding: u32, read_only, has_dynamic_offset| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only },
                has_dynamic_offset,
                min_binding_size: None,
            },
            count: None,
        };
        // Source, destination, parameters and tables.
        let entries = [
            entry(0, true, false),
            entry(1, false, false),
            entry(2, true, true),
            entry(3, true, false),
        ];
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
        let bindings = device.create_bind_group_layout(&descriptor);
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        Pipelines { bindings, layout, compiled: Mutex::default() }
    }

    /// Kernels are compiled on first use.
    pub(crate) fn of(&self, device: &wgpu::Device, kernel: Kernel) -> ComputePipeline {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.entry(kernel).or_insert_with(|| self.compile(device, kernel)).clone()
    }

    fn compile(&self, device: &wgpu::Device, kernel: Kernel) -> ComputePipeline {
        let label = format!("trundle {kernel:?}");
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&label),
            source: wgpu::ShaderSource::Wgsl(source(kernel).into()),
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&label),
            layout: Some(&self.layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Kernels write a tile before they read it.
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        })
    }
}
