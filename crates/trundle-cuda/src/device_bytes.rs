//! A range of device memory.

/// A range of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// The address, as a `CUdeviceptr`. It may have any alignment, but kernels are faster with aligned memory.
    pub address: u64,
    /// The size in bytes.
    pub bytes: usize,
}
