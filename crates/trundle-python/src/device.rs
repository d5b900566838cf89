//! The device of an array.

use std::ffi::c_void;
use std::fmt;

use dlpark::ffi::{DLDevice, DLDeviceType};

/// The CPU or a GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArrayDevice {
    Cpu,
    Gpu(Gpu),
}

/// An NVIDIA GPU, and the library's current stream on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpu {
    pub(crate) ordinal: u32,
    /// A `CUstream`; null for the default stream.
    pub(crate) stream: *mut c_void,
}

// SAFETY: a stream is a handle that any thread may pass to the driver.
unsafe impl Send for Gpu {}

impl ArrayDevice {
    /// `None` for the CPU.
    pub(crate) fn ordinal(self) -> Option<u32> {
        self.gpu().map(|gpu| gpu.ordinal)
    }

    pub(crate) fn gpu(self) -> Option<Gpu> {
        match self {
            ArrayDevice::Cpu => None,
            ArrayDevice::Gpu(gpu) => Some(gpu),
        }
    }
}

/// The index of a GPU.
pub(crate) fn ordinal(device: DLDevice) -> Option<u32> {
    let is_gpu = [DLDeviceType::CUDA, DLDeviceType::CUDAMANAGED].contains(&device.device_type);
    u32::try_from(device.device_id).ok().filter(|_| is_gpu)
}

impl fmt::Display for ArrayDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrayDevice::Cpu => f.write_str("the CPU"),
            ArrayDevice::Gpu(gpu) => write!(f, "GPU {}", gpu.ordinal),
        }
    }
}
