//! Memory of a device, by its address.

/// Memory of a device: an address, and how many bytes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// The address, as `CUdeviceptr`. It need not be aligned, though kernels are faster where it is.
    pub address: u64,
    /// The bytes from there on.
    pub bytes: usize,
}
