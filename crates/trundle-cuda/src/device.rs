//! The device handle, [`Cuda`].

use std::ffi::c_void;
use std::fmt;

use trundle_core::Result;

use crate::NoDevice;
use crate::context::Context;
use crate::specialised::Specialise;
use crate::stream::Stream;

/// Runs moves on a CUDA device. All work is enqueued on one stream and runs in order. Clones share the stream.
/// Several threads may use it.
#[derive(Clone)]
pub struct Cuda {
    pub(crate) stream: Stream,
    pub(crate) specialise: Specialise,
}

impl Cuda {
    /// Opens device `ordinal` (counted from 0) on its default stream. The first call loads the driver. A device that is
    /// opened again has the same context.
    ///
    /// # Errors
    /// [`NoDevice`] if there is no such driver or device, or if it cannot be used.
    pub fn new(ordinal: usize) -> Result<Cuda, NoDevice> {
        let context = Context::of_device(ordinal)?;
        let stream = Stream::default_of(context);
        Ok(Cuda { stream, specialise: Specialise::of_environment() })
    }

    /// Returns the same device and stream with another setting for the plans that it makes.
    #[must_use]
    pub fn specialise(&self, specialise: Specialise) -> Cuda {
        Cuda { stream: self.stream, specialise }
    }

    /// Returns the same device with a stream of the caller: a `CUstream` or a `cudaStream_t`. Null is the default
    /// stream.
    ///
    /// # Safety
    /// The stream must belong to this device's primary context, which is the context of CUDA's runtime. It must
    /// outlive the returned value, its clones, and all their buffers and plans. `CU_STREAM_PER_THREAD` is a different
    /// stream in each thread, so a value on that stream, and its clones, buffers and plans, must stay on one thread.
    pub unsafe fn on(&self, stream: *mut c_void) -> Cuda {
        // SAFETY: the caller guarantees that the stream belongs to this context and outlives the result.
        Cuda { stream: unsafe { Stream::of(self.stream.context, stream) }, ..*self }
    }

    /// Returns the index of the device, counted from 0.
    pub fn ordinal(&self) -> usize {
        self.stream.context.ordinal
    }

    /// Returns the name of the device.
    pub fn name(&self) -> &str {
        &self.stream.context.name
    }

    /// Whether this is the emulated device of the tests. Its speed says nothing about a GPU.
    pub fn is_emulated(&self) -> bool {
        self.name() == "emulated"
    }

    /// Waits for all work on the stream.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`](trundle_core::Error::DeviceFailed) if the device fails or has failed since the last
    /// wait.
    pub fn wait(&self) -> Result<()> {
        self.stream.wait()
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cuda({:?})", self.stream)
    }
}
