//! What a device does one after another.

use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult, CUstreamCaptureStatus};
use trundle_core::{Error, Result};
use trundle_gpu::WORKGROUP;

use crate::context::Context;
use crate::failure::failed;
use crate::launch::{Ends, Launch};

/// A stream of a device: all that is begun on it is done in this order.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) context: &'static Context,
    /// The driver's, or null for the default stream.
    handle: sys::CUstream,
}

// SAFETY: the driver's handles may be used by any thread, by several at once: its documentation says so of all functions that
// are called here.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

/// The bytes of a word.
const WORD: usize = 4;

/// The default stream by a name that is no pointer, as others have it in an integer.
const LEGACY: usize = 1;

impl Stream {
    pub(crate) fn default_of(context: &'static Context) -> Stream {
        Stream { context, handle: null_mut() }
    }

    /// # Safety
    /// It is null or a stream of this context, which lives as long as what is given.
    pub(crate) unsafe fn of(context: &'static Context, stream: *mut c_void) -> Stream {
        let handle = if stream.addr() == LEGACY { null_mut() } else { stream.cast() };
        Stream { context, handle }
    }

    /// Whether both are the same stream of the same device.
    pub(crate) fn is(self, other: Stream) -> bool {
        self.is_of(other.context) && self.handle == other.handle
    }

    /// Whether it is one of this device.
    pub(crate) fn is_of(self, context: &Context) -> bool {
        self.context.ordinal == context.ordinal
    }

    /// Refuses `what` while a graph is made of all that is begun on the stream.
    pub(crate) fn check_no_capture(self, what: &str) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the stream lives.
        match unsafe { result::stream::is_capturing(self.handle) }.map_err(failed)? {
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(()),
            _ => {
                let message = format!("the stream is captured into a graph meanwhile, and {what}");
                Err(Error::DeviceFailed { message })
            }
        }
    }

    /// New memory, whatever is in it.
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
        self.check_no_capture("memory of its own would be gone when that is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        // Memory of no bytes is none, and bits of a byte are written by operations on the word that it is in.
        let bytes = bytes.max(1).next_multiple_of(WORD);
        match self.context.has_pools {
            // SAFETY: the stream lives, and its context is current.
            true => unsafe { result::malloc_async(self.handle, bytes) },
            // SAFETY: a context is current.
            false => unsafe { result::malloc_sync(bytes) },
        }
        .map_err(refused)
    }

    /// Gives memory back when all is done that was begun before. While the stream is captured that cannot be said, and it waits
    /// for what is given back next.
    ///
    /// # Safety
    /// It was allocated here, and nobody begins anything with it any more.
    pub(crate) unsafe fn free(self, address: u64) {
        self.context.dropped().push((self.handle, address));
        if self.check_no_capture("").is_err() {
            return;
        }
        let is_here = |(stream, _): &mut (sys::CUstream, u64)| *stream == self.handle;
        let here: Vec<_> = self.context.dropped().extract_if(.., is_here).collect();
        for (_, address) in here {
            // SAFETY: the caller has said so.
            unsafe { self.free_now(address) };
        }
    }

    /// # Safety
    /// As [`Stream::free`].
    unsafe fn free_now(self, address: u64) {
        // A device that was lost has no memory to give back, so that failures are of no account.
        let Ok(_current) = self.context.current() else { return };
        if self.context.has_pools {
            // SAFETY: the caller says so.
            let _ = unsafe { result::free_async(address, self.handle) };
        } else {
            // SAFETY: the stream lives.
            let _ = unsafe { result::stream::synchronize(self.handle) };
            // SAFETY: the caller says so, and the stream has done what it was given.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    /// Makes all bytes 0.
    ///
    /// # Safety
    /// So many bytes are there until it is done, and nobody else uses them.
    pub(crate) unsafe fn zero(self, address: u64, bytes: usize) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the caller says so.
        unsafe { result::memset_d8_async(address, 0, bytes, self.handle) }.map_err(failed)
    }

    /// Copies from the host: what is small without waiting, from memory that is kept for that. Else it waits: NVIDIA promises
    /// of no copy by `cuMemcpyHtoDAsync` that the host's memory is free when it returns. What is pageable the driver *may*
    /// stage, and what is pinned, which a slice does not say, it never does ("API synchronization behavior" in its
    /// documentation of the driver).
    ///
    /// # Safety
    /// So many bytes are there, and nobody else uses them.
    pub(crate) unsafe fn write<T: Copy>(self, address: u64, values: &[T]) -> Result<()> {
        self.check_no_capture("what the host has now would be gone when that is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        if let Some(piece) = self.context.staging.piece(size_of_val(values)) {
            // SAFETY: the caller says so; the stream lives, and its context is current.
            let copied = unsafe { self.context.staging.copy(piece, values, address, self.handle) };
            return copied.map_err(failed);
        }
        // SAFETY: the caller says so, and the values are borrowed until the copy is done.
        unsafe { result::memcpy_htod_async(address, values, self.handle) }.map_err(failed)?;
        self.wait()
    }

    /// Copies to the host, when all is done that was begun before, and waits for it.
    ///
    /// # Safety
    /// So many bytes are there, and nobody else writes to them.
    pub(crate) unsafe fn read(self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.check_no_capture("nothing is read from it before that is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the caller says so, and the bytes are borrowed until the copy is done.
        unsafe { result::memcpy_dtoh_async(bytes, address, self.handle) }.map_err(failed)?;
        self.wait()
    }

    /// Copies within the device, and does not wait for it.
    ///
    /// # Safety
    /// So many bytes are at both, which do not overlap, and stay until it is done; nobody else uses them.
    pub(crate) unsafe fn copy(self, src: u64, dst: u64, bytes: usize) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the caller says so.
        unsafe { result::memcpy_dtod_async(dst, src, bytes, self.handle) }.map_err(failed)
    }

    /// Waits until all is done that was begun.
    pub(crate) fn wait(self) -> Result<()> {
        self.check_no_capture("nothing of it is done before that is replayed")?;
        let _current = self.context.current().map_err(failed)?;
        // SAFETY: the stream lives.
        unsafe { result::stream::synchronize(self.handle) }.map_err(failed)
    }

    /// Launches kernels, one after another, and does not wait for them.
    ///
    /// # Safety
    /// What the launches read and write is there until they are done, and nobody else writes or reads it meanwhile.
    pub(crate) unsafe fn launch(self, launches: &[Launch], ends: &Ends) -> Result<()> {
        let _current = self.context.current().map_err(failed)?;
        for launch in launches {
            let mut parameters = launch.between(ends);
            let function = self.context.function(launch.kernel);
            let (grid, threads) = ((launch.blocks, 1, 1), (WORKGROUP as u32, 1, 1));
            let parameters = &mut [(&raw mut parameters).cast::<c_void>()];
            // SAFETY: the kernel takes one struct of this layout, which the driver copies before it returns; the rest is as
            // the caller says.
            unsafe { result::launch_kernel(function, grid, threads, 0, self.handle, parameters) }
                .map_err(failed)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Stream {
    /// `stream 0x55d0 of device 0, NVIDIA H100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Context { ordinal, name, .. } = self.context;
        match self.handle.is_null() {
            true => write!(f, "the default stream of device {ordinal}, {name}"),
            false => write!(f, "stream {:?} of device {ordinal}, {name}", self.handle),
        }
    }
}
