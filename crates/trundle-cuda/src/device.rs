//! A device, and what it is asked to do.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use trundle_core::{Error, Result};

use crate::driver::Context;
use crate::launch::{Launch, Misaligned};
use crate::{CudaBuffer, CudaPlan, NoDevice};

/// Moves elements on a device. Clones are of the same device, and it can be used by several threads.
#[derive(Clone)]
pub struct Cuda {
    pub(crate) context: Arc<Context>,
}

/// Memory of a device that is the caller's: an address, and how many bytes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// The address, as `CUdeviceptr`. It need not be aligned, though kernels are faster where it is.
    pub address: u64,
    /// The bytes from there on.
    pub bytes: usize,
}

impl Cuda {
    /// Opens a device by its number, from 0 on. The driver is loaded then, and not before.
    ///
    /// # Errors
    /// [`NoDevice`], with what was looked for.
    pub fn new(ordinal: usize) -> Result<Cuda, NoDevice> {
        Context::open(ordinal).map(|context| Cuda { context: Arc::new(context) })
    }

    /// What the device is called.
    pub fn name(&self) -> &str {
        &self.context.name
    }

    /// Waits until all is done that was begun on the default stream.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`](trundle_core::Error::DeviceFailed), also for what failed since anybody waited.
    pub fn wait(&self) -> Result<()> {
        self.context.wait()
    }

    /// Moves elements between the caller's memory, on the caller's stream (a `CUstream`, or null for the default one):
    /// nothing is copied, allocated or waited for. `src` and `dst` may be more than the plan needs.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](trundle_core::Error::OutOfBounds) if one is less than the plan needs; nothing is begun then.
    /// [`Error::DeviceFailed`](trundle_core::Error::DeviceFailed) if the driver refuses a launch.
    ///
    /// # Safety
    /// Until the stream has done this: `src` can be read by the device and nobody writes to it, `dst` can be written and
    /// nobody else reads or writes there, they do not overlap, and `plan` lives. The plan is one of this device, and so is
    /// the stream: of its primary context, which is that of CUDA's runtime.
    pub unsafe fn run_on(
        &self,
        plan: &CudaPlan,
        stream: *mut c_void,
        src: DeviceBytes,
        dst: DeviceBytes,
    ) -> Result<()> {
        let prepared = plan.prepared(src.bytes, dst.bytes)?;
        let all = 0..prepared.launches();
        let launches = all.map(|at| plan.launch(at, src, dst));
        // SAFETY: the caller says so; the tables are the plan's.
        unsafe { self.context.launch(stream, launches) }
    }

    /// Some launches of a plan on the default stream.
    pub(crate) fn run_some(
        &self,
        plan: &CudaPlan,
        some: std::ops::Range<usize>,
        src: &CudaBuffer,
        dst: &mut CudaBuffer,
    ) -> Result<()> {
        if ![plan.context(), src.context(), dst.context()].iter().all(|it| it.is(&self.context)) {
            let message = format!("a plan or a buffer is not of {}", self.name());
            return Err(Error::DeviceFailed { message });
        }
        let [src, dst] = [src.device_bytes(), dst.device_bytes()];
        plan.prepared(src.bytes, dst.bytes)?;
        let launches = some.map(|at| plan.launch(at, src, dst));
        // SAFETY: both are whole allocations, of which one is borrowed for this alone, and have the bytes that are needed. All
        // this does with them and with the plan's tables is on the default stream, for which is waited before memory is given back.
        unsafe { self.context.launch(std::ptr::null_mut(), launches) }
    }
}

impl Launch {
    /// The launch for buffers at these addresses.
    pub(crate) fn between(mut self, src: DeviceBytes, dst: DeviceBytes, numbers: u64) -> Launch {
        self.parameters.src = src.address;
        self.parameters.src_bytes = src.bytes as u64;
        self.parameters.dst = dst.address;
        self.parameters.numbers = numbers;
        self
    }
}

impl Misaligned {
    /// That of two buffers.
    pub(crate) fn between(src: DeviceBytes, dst: DeviceBytes) -> Misaligned {
        Misaligned::of(src.address, dst.address)
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda").field("name", &self.name()).finish()
    }
}
