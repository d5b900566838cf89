//! Finds and opens devices.

use std::fmt;
use std::sync::Arc;

use trundle_core::{Error, Result};
use trundle_gpu::Windows;
use wgpu::{Adapter, DeviceType, Limits};

use crate::NoDevice;
use crate::faults::Faults;
use crate::pipelines::Pipelines;

/// Which devices may be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Only GPUs. Discrete GPUs are preferred to integrated ones.
    #[default]
    Gpu,
    /// GPUs, or else a device that the CPU emulates, such as Mesa's lavapipe. For tests: it is slower than the CPU
    /// backend.
    GpuOrEmulated,
}

/// Runs moves on a device, which clones share. Several threads may use it.
#[derive(Clone)]
pub struct Wgpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: Limits,
    pub(crate) windows: Windows,
    pub(crate) pipelines: Arc<Pipelines>,
    pub(crate) faults: Faults,
    name: String,
    is_emulated: bool,
}

impl Wgpu {
    /// Opens the best GPU of the system, never an emulated one.
    ///
    /// # Errors
    /// [`NoDevice`] if no GPU can be used. It lists the adapters that were found.
    pub fn new() -> Result<Wgpu, NoDevice> {
        Wgpu::open(Choice::Gpu)
    }

    /// Opens the best device that `choice` allows.
    ///
    /// # Errors
    /// [`NoDevice`] if no device can be used. It lists the adapters that were found.
    pub fn open(choice: Choice) -> Result<Wgpu, NoDevice> {
        let backends = wgpu::Instance::enabled_backend_features();
        let interfaces = backends.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        if backends.is_empty() {
            return Err(NoDevice { interfaces, found: Vec::new() });
        }
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends,
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let mut adapters = pollster::block_on(instance.enumerate_adapters(backends));
        adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
        let mut found = Vec::new();
        for adapter in &adapters {
            let opened = match choice {
                Choice::Gpu if is_emulated(adapter) => Err("which the CPU emulates".to_owned()),
                _ => Wgpu::of(adapter),
            };
            match opened {
                Ok(wgpu) => return Ok(wgpu),
                Err(why) => found.push(format!("{}, {why}", name(adapter))),
            }
        }
        Err(NoDevice { interfaces, found })
    }

    /// Opens the device of an adapter, or returns why it cannot be used.
    fn of(adapter: &Adapter) -> Result<Wgpu, String> {
        let flags = adapter.get_downlevel_capabilities().flags;
        if !flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
            return Err("which has no compute shaders".to_owned());
        }
        let limits = wanted(&adapter.limits());
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("trundle"),
            required_limits: limits.clone(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|refusal| format!("which refuses: {refusal}"))?;
        Ok(Wgpu {
            faults: Faults::of(&device),
            pipelines: Arc::new(Pipelines::new(&device)),
            windows: Windows {
                bytes: usize::try_from(limits.max_storage_buffer_binding_size)
                    .unwrap_or(usize::MAX),
                alignment: limits.min_storage_buffer_offset_alignment.max(16) as usize,
            },
            device,
            queue,
            limits,
            name: match is_emulated(adapter) {
                true => format!("{}, emulated", name(adapter)),
                false => name(adapter),
            },
            is_emulated: is_emulated(adapter),
        })
    }

    /// Returns the name of the device with its graphics interface, and "emulated" if it is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the CPU emulates the device. Its speed says nothing about a GPU.
    pub fn is_emulated(&self) -> bool {
        self.is_emulated
    }

    /// Returns the limits for the bound parts of buffers: the device's, unless [`with_windows`](Wgpu::with_windows) was
    /// used.
    pub fn windows(&self) -> Windows {
        self.windows
    }

    /// Limits the bound parts of buffers to `bytes` bytes, so that tests can run the code for large buffers with small
    /// ones.
    #[must_use]
    pub fn with_windows(self, bytes: usize) -> Wgpu {
        let bytes = bytes.min(self.windows.bytes);
        Wgpu { windows: Windows { bytes, ..self.windows }, ..self }
    }

    /// Waits for all submitted work.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if the device was lost or reported a failure.
    pub fn wait(&self) -> Result<()> {
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.faults.check()?;
        waited.map(|_| ()).map_err(|error| Error::DeviceFailed { message: error.to_string() })
    }
}

impl fmt::Debug for Wgpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wgpu").field("name", &self.name).field("windows", &self.windows).finish()
    }
}

/// Ranks device types, best first.
fn rank(device_type: DeviceType) -> u8 {
    match device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

fn name(adapter: &Adapter) -> String {
    let info = adapter.get_info();
    format!("{} ({})", info.name, info.backend)
}

fn is_emulated(adapter: &Adapter) -> bool {
    adapter.get_info().device_type == DeviceType::Cpu
}

/// Returns wgpu's default limits, with the buffer sizes of this device.
fn wanted(has: &Limits) -> Limits {
    Limits {
        max_buffer_size: has.max_buffer_size,
        max_storage_buffer_binding_size: has.max_storage_buffer_binding_size,
        min_storage_buffer_offset_alignment: has.min_storage_buffer_offset_alignment,
        ..Limits::downlevel_defaults().using_resolution(has.clone())
    }
}
