//! Buffers in device memory.

use std::fmt;

use trundle_core::{Error, Result, check_buffer, check_sizes};

use crate::stream::Stream;
use crate::{Cuda, DeviceBytes};

/// A buffer in device memory that belongs to one stream. The memory is either borrowed from the caller
/// ([`Cuda::borrowed`]) or owned. Dropping a buffer frees owned memory, in the order of the stream.
pub struct CudaBuffer {
    stream: Stream,
    memory: DeviceBytes,
    is_borrowed: bool,
}

impl CudaBuffer {
    pub(crate) fn zeros(stream: Stream, bytes: usize) -> Result<CudaBuffer> {
        let buffer = CudaBuffer::allocated(stream, bytes)?;
        if bytes > 0 {
            // SAFETY: the buffer was just allocated with this size and is freed in stream order.
            unsafe { stream.zero(buffer.memory.address, bytes)? };
        }
        Ok(buffer)
    }

    pub(crate) fn of<T: Copy>(stream: Stream, values: &[T]) -> Result<CudaBuffer> {
        let buffer = CudaBuffer::allocated(stream, size_of_val(values))?;
        if !values.is_empty() {
            // SAFETY: the buffer was just allocated with the size of `values`.
            unsafe { stream.write(buffer.memory.address, values)? };
        }
        Ok(buffer)
    }

    fn allocated(stream: Stream, bytes: usize) -> Result<CudaBuffer> {
        let address = stream.allocate(bytes)?;
        Ok(CudaBuffer { stream, memory: DeviceBytes { address, bytes }, is_borrowed: false })
    }

    /// Returns the address and the size, so that other code can use the memory on the same stream.
    pub fn device_bytes(&self) -> DeviceBytes {
        self.memory
    }
}

impl Cuda {
    /// Makes a buffer from memory of the caller. Dropping the buffer does not free the memory.
    ///
    /// # Safety
    /// Until the stream has finished all work that uses the buffer:
    ///
    /// - The device can read the whole range, and no other code writes to it.
    /// - If the buffer is a destination, the device can write the whole range, and no other code reads it.
    /// - The source and the destination of a move do not overlap.
    /// - Packed elements are written by atomic operations on whole words. Other bits of the first and the last word
    ///   keep their values, but the device must be able to access these words.
    ///
    /// If the stream is captured into a graph, the same must be true during each replay of the graph.
    pub unsafe fn borrowed(&self, memory: DeviceBytes) -> CudaBuffer {
        CudaBuffer { stream: self.stream, memory, is_borrowed: true }
    }

    /// Enqueues a copy of all bytes of `src` to `dst`, which has the same size. Use [`Cuda::wait`] to wait for it.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the sizes differ. Nothing has been
    /// enqueued then. [`Error::DeviceFailed`] if the device fails or a buffer belongs to another stream.
    pub fn copy(&self, src: &CudaBuffer, dst: &mut CudaBuffer) -> Result<()> {
        check_sizes(("data", src.memory.bytes), ("out", dst.memory.bytes))?;
        self.check_buffers(&[src, dst])?;
        match src.memory.bytes {
            0 => Ok(()),
            // SAFETY: both buffers have `bytes` bytes, and `dst` is borrowed exclusively. Owned buffers are freed in
            // stream order. The caller of `Cuda::borrowed` guarantees that borrowed memory outlives the work.
            bytes => unsafe { self.stream.copy(src.memory.address, dst.memory.address, bytes) },
        }
    }

    /// Waits for all work on the stream and returns the contents of a buffer.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if the device fails or the buffer belongs to another stream.
    pub fn read(&self, buffer: &CudaBuffer) -> Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.memory.bytes];
        self.read_into(buffer, &mut bytes)?;
        Ok(bytes)
    }

    /// Waits for all work on the stream, then copies the first `bytes.len()` bytes of the buffer to the host.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the buffer is shorter. `bytes` is
    /// unchanged then. [`Error::DeviceFailed`] if the device fails or the buffer belongs to another stream.
    pub fn read_into(&self, buffer: &CudaBuffer, bytes: &mut [u8]) -> Result<()> {
        check_buffer("data", bytes.len(), buffer.memory.bytes)?;
        self.check_buffers(&[buffer])?;
        match bytes {
            [] => self.wait(),
            // SAFETY: the size was checked above.
            bytes => unsafe { self.stream.read(buffer.memory.address, bytes) },
        }
    }

    /// Copies host bytes to the start of a buffer, in stream order.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the buffer is shorter. It is unchanged
    /// then. [`Error::DeviceFailed`] if the device fails or the buffer belongs to another stream.
    pub fn write(&self, buffer: &mut CudaBuffer, bytes: &[u8]) -> Result<()> {
        check_buffer("out", bytes.len(), buffer.memory.bytes)?;
        self.check_buffers(&[buffer])?;
        match bytes {
            [] => Ok(()),
            // SAFETY: the size was checked above, and `buffer` is borrowed exclusively.
            bytes => unsafe { self.stream.write(buffer.memory.address, bytes) },
        }
    }

    /// Refuses buffers of other streams and, during graph capture, owned buffers, which may be freed before a replay.
    pub(crate) fn check_buffers(&self, buffers: &[&CudaBuffer]) -> Result<()> {
        if let Some(other) = buffers.iter().find(|buffer| !buffer.stream.is(self.stream)) {
            let message = format!("{other:?} is of another stream than {self:?}");
            return Err(Error::DeviceFailed { message });
        }
        match buffers.iter().all(|buffer| buffer.is_borrowed) {
            true => Ok(()),
            false => self
                .stream
                .check_no_capture("an owned buffer may be freed before the graph is replayed"),
        }
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        if !self.is_borrowed {
            // SAFETY: the memory was allocated on this stream and is not shared. Only work that has been enqueued
            // before still uses it.
            unsafe { self.stream.free(self.memory.address) };
        }
    }
}

impl fmt::Debug for CudaBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceBytes { address, bytes } = self.memory;
        write!(f, "CudaBuffer({bytes} bytes at {address:#x} on {:?})", self.stream)
    }
}
