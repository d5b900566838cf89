//! Streams, and operations that are enqueued on them.

use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult, CUstreamCaptureStatus};
use trundle_core::{Error, Result};
use trundle_gpu::WORKGROUP;

use crate::context::Context;
use crate::failure::failed;
use crate::launch::{Ends, Launch, Start};
use crate::specialised::Ready;

/// A stream of a device. Work enqueued on it runs in order.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) context: &'static Context,
    /// The driver's handle; null is the default stream.
    handle: sys::CUstream,
}

// SAFETY: by the documentation of the driver, all functions with these handles may be called from any thread and
// concurrently.
unsafe impl Send for Stream {}
// SAFETY: as for `Send`.
unsafe impl Sync for Stream {}

/// Specialised kernels access multiples of so many bytes.
const VECTOR: u64 = 16;

/// The size of an entry of a table.
const LENGTH: u64 = 8;

/// `CU_STREAM_LEGACY`, another handle of the default stream.
const LEGACY: usize = 1;

impl Stream {
    pub(crate) fn default_of(context: &'static Context) -> Stream {
        Stream { context, handle: null_mut() }
    }

    /// # Safety
    /// `stream` must be null or a stream of this context, and must outlive the returned value.
    pub(crate) unsafe fn of(context: &'static Context, stream: *mut c_void) -> Stream {
        let handle = if stream.addr() == LEGACY { null_mut() } else { stream.cast() };
        Stream { context, handle }
    }

    pub(crate) fn is(self, other: Stream) -> bool {
        self.is_of(other.context) && self.handle == other.handle
    }

    pub(crate) fn is_of(self, context: &Context) -> bool {
        self.context.ordinal == context.ordinal
    }

    /// Refuses an operation while the stream is captured into a graph. `what` is the reason.
    pub(crate) fn check_no_capture(self, what: &str) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the stream is alive.
        match unsafe { result::stream::is_capturing(self.handle) }.map_err(failed)? {
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(()),
            _ => {
                let message = format!("the stream is being captured into a graph, and {what}");
                Err(Error::DeviceFailed { message })
            }
        }
    }

    pub(crate) fn allocate(self, bytes: usize) -> Result<u64> {
        let what = || format!("a buffer of {bytes} bytes on {}", self.context.name);
        let out_of_memory = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let refused = |error| match error == out_of_memory {
            true => Error::too_large(what()),
            false => failed(error),
        };
        if bytes > isize::MAX.unsigned_abs() {
            return Err(Error::too_large(what()));
        }
        self.check_no_capture("memory allocated now would be freed before the graph is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        // Allocations of 0 bytes fail, and kernels access whole words of packed elements and whole vectors.
        let bytes = bytes.max(1).next_multiple_of(VECTOR as usize);
        match self.context.has_pools {
            // SAFETY: the stream is alive, and its context is current.
            true => unsafe { result::malloc_async(self.handle, bytes) },
            // SAFETY: a context is current.
            false => unsafe { result::malloc_sync(bytes) },
        }
        .map_err(refused)
    }

    /// Frees memory after all work that was enqueued before. During graph capture this is not possible, and a later
    /// call of this function for the same stream frees the memory.
    ///
    /// # Safety
    /// The memory must come from [`Stream::allocate`], and no more work that uses it may be enqueued.
    pub(crate) unsafe fn free(self, address: u64) {
        self.context.dropped().push((self.handle, address));
        if self.check_no_capture("").is_err() {
            return;
        }
        let is_here = |(stream, _): &mut (sys::CUstream, u64)| *stream == self.handle;
        let here: Vec<_> = self.context.dropped().extract_if(.., is_here).collect();
        for (_, address) in here {
            // SAFETY: all addresses in `dropped` were passed to `free`, whose callers guarantee the same.
            unsafe { self.free_now(address) };
        }
    }

    /// # Safety
    /// As [`Stream::free`].
    unsafe fn free_now(self, address: u64) {
        // A lost device has no memory to free, so errors are ignored.
        let Ok(_current) = self.context.current() else { return };
        if self.context.has_pools {
            // SAFETY: the caller guarantees that the memory was allocated here and that no later work uses it.
            let _ = unsafe { result::free_async(address, self.handle) };
        } else {
            // SAFETY: the stream is alive.
            let _ = unsafe { result::stream::synchronize(self.handle) };
            // SAFETY: the stream is alive and idle.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    /// # Safety
    /// The range must stay valid until this operation has finished, and no other code may use it before then.
    pub(crate) unsafe fn zero(self, address: u64, bytes: usize) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the caller guarantees that the range is valid and not shared.
        unsafe { result::memset_d8_async(address, 0, bytes, self.handle) }.map_err(failed)
    }

    /// Copies values from the host. Small copies are staged in page-locked memory and do not wait.
    ///
    /// Other copies must wait: when `cuMemcpyHtoDAsync` returns, the device may still read the host memory. The driver
    /// *may* stage pageable memory, but never pinned memory, in which a slice may be ("API synchronization behavior" in
    /// the documentation of the driver).
    ///
    /// # Safety
    /// The range must be valid, and no other code may use it.
    pub(crate) unsafe fn write<T: Copy>(self, address: u64, values: &[T]) -> Result<()> {
        self.check_no_capture("host memory may have changed when the graph is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        if let Some(piece) = self.context.staging.piece(size_of_val(values)) {
            // SAFETY: the caller guarantees that the range is valid. The stream is alive, and its context is current.
            let copied = unsafe { self.context.staging.copy(piece, values, address, self.handle) };
            return copied.map_err(failed);
        }
        // SAFETY: the caller guarantees that the range is valid. The stream is alive, and its context is current.
        // `values` is borrowed until the copy has finished.
        unsafe { result::memcpy_htod_async(address, values, self.handle) }.map_err(failed)?;
        self.wait()
    }

    /// Waits for all work that was enqueued before, and copies bytes to the host.
    ///
    /// # Safety
    /// The range must be valid, and no other code may write to it.
    pub(crate) unsafe fn read(self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.check_no_capture("it has no results before the graph is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the caller guarantees that the range is valid. `bytes` is borrowed until the copy has finished.
        unsafe { result::memcpy_dtoh_async(bytes, address, self.handle) }.map_err(failed)?;
        self.wait()
    }

    /// Enqueues a copy within the device.
    ///
    /// # Safety
    /// Both ranges must be valid until this operation has finished, and must not overlap. No other code may use them
    /// before then.
    pub(crate) unsafe fn copy(self, src: u64, dst: u64, bytes: usize) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the caller guarantees that the ranges are valid and do not overlap.
        unsafe { result::memcpy_dtod_async(dst, src, bytes, self.handle) }.map_err(failed)
    }

    pub(crate) fn wait(self) -> Result<()> {
        self.check_no_capture("its work is done only when the graph is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.handle) }.map_err(failed)
    }

    /// # Safety
    /// All memory that the launches read or write must be valid until they have finished. Until then, no other code
    /// may write memory that they read, or access memory that they write.
    pub(crate) unsafe fn launch(self, starts: &[Start], ends: &Ends) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        for start in starts {
            match start {
                // SAFETY: the caller guarantees that the buffers are valid.
                Start::Generic(launch) => unsafe { self.launch_generic(launch, ends) },
                Start::Specialised(kernel, lengths) => {
                    // SAFETY: as above. Vectors of the source lie within its allocation, which `PlanKernels::ready`
                    // checked.
                    unsafe { self.launch_specialised(kernel, *lengths, ends) }
                }
            }
            .map_err(failed)?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`Stream::launch`].
    unsafe fn launch_generic(self, launch: &Launch, ends: &Ends) -> Result<(), DriverError> {
        let mut parameters = launch.between(ends);
        let function = self.context.function(launch.kernel);
        let (grid, threads) = ((launch.blocks, 1, 1), (WORKGROUP as u32, 1, 1));
        let parameters = &mut [(&raw mut parameters).cast::<c_void>()];
        // SAFETY: the kernel has one parameter, a struct of this layout, which the driver copies before it
        // returns. The caller guarantees that the buffers are valid.
        unsafe { result::launch_kernel(function, grid, threads, 0, self.handle, parameters) }
    }

    /// # Safety
    /// As [`Stream::launch`], also for up to 15 bytes on both sides of the source.
    unsafe fn launch_specialised(
        self,
        kernel: &Ready,
        lengths: u64,
        ends: &Ends,
    ) -> Result<(), DriverError> {
        let down = |address: u64| address / VECTOR * VECTOR;
        let lengths = ends.numbers + LENGTH * lengths;
        let mut parameters = [down(ends.src.address), down(ends.dst.address), lengths];
        let mut parameters = parameters.each_mut().map(|each| (&raw mut *each).cast::<c_void>());
        let (grid, threads) = ((kernel.blocks, 1, 1), (kernel.threads, 1, 1));
        let (function, stream) = (kernel.function.0, self.handle);
        // SAFETY: the kernel has three pointers as parameters, which the driver copies before it returns. The caller
        // guarantees that the buffers are valid.
        unsafe { result::launch_kernel(function, grid, threads, 0, stream, &mut parameters) }
    }
}

impl fmt::Debug for Stream {
    /// Example: `stream 0x55d0 of device 0, NVIDIA H100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Context { ordinal, name, .. } = self.context;
        match self.handle.is_null() {
            true => write!(f, "the default stream of device {ordinal}, {name}"),
            false => write!(f, "stream {:?} of device {ordinal}, {name}", self.handle),
        }
    }
}
