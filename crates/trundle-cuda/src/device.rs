//! A device, and what it is asked to do.

use std::ffi::c_void;
use std::fmt;

use trundle_core::Result;

use crate::NoDevice;
use crate::context::Context;
use crate::stream::Stream;

/// Moves elements on a device, in the order of a stream: all that it is asked for is begun on this, and done in this order.
/// Clones are of the same stream, and it can be used by several threads.
#[derive(Clone)]
pub struct Cuda {
    pub(crate) stream: Stream,
}

impl Cuda {
    /// Opens a device by its number, from 0 on, on its default stream. The driver is loaded then, and not before. What a device
    /// is opened for again is there already.
    ///
    /// # Errors
    /// [`NoDevice`], with what was looked for.
    pub fn new(ordinal: usize) -> Result<Cuda, NoDevice> {
        Context::of_device(ordinal).map(|context| Cuda { stream: Stream::default_of(context) })
    }

    /// The same device on a stream of the caller's, a `CUstream` or a `cudaStream_t`; null is the default stream.
    ///
    /// # Safety
    /// The stream is of this device's primary context, which is that of CUDA's runtime. It lives as long as
    /// what is returned, its clones, and all buffers and plans that they make. The default stream of each thread
    /// (`CU_STREAM_PER_THREAD`) is another one in each, so that all of these stay in one thread then.
    pub unsafe fn on(&self, stream: *mut c_void) -> Cuda {
        // SAFETY: the caller says so.
        Cuda { stream: unsafe { Stream::of(self.stream.context, stream) } }
    }

    /// Which device it is: the first is 0.
    pub fn ordinal(&self) -> usize {
        self.stream.context.ordinal
    }

    /// What the device is called.
    pub fn name(&self) -> &str {
        &self.stream.context.name
    }

    /// Whether it is one of the driver that tests have in place of NVIDIA's: nothing that it takes says anything of a GPU.
    pub fn is_emulated(&self) -> bool {
        self.name() == "emulated"
    }

    /// Waits until all is done that was begun on the stream.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`](trundle_core::Error::DeviceFailed), also for what failed since anybody waited.
    pub fn wait(&self) -> Result<()> {
        self.stream.wait()
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cuda({:?})", self.stream)
    }
}
