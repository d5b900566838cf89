//! Memory of a device.

use std::fmt;

use trundle_core::{Error, Result, check_buffer, check_sizes};

use crate::stream::Stream;
use crate::{Cuda, DeviceBytes};

/// Bytes in a device's memory, for what is done on one stream: the caller's ([`Cuda::borrowed`]), or its own, which are given
/// back with it, when the stream has done all that was begun before.
pub struct CudaBuffer {
    stream: Stream,
    memory: DeviceBytes,
    is_borrowed: bool,
}

impl CudaBuffer {
    /// New memory of so many bytes, all of them 0.
    pub(crate) fn zeros(stream: Stream, bytes: usize) -> Result<CudaBuffer> {
        let buffer = CudaBuffer::allocated(stream, bytes)?;
        if bytes > 0 {
            // SAFETY: they have just been allocated, and are given back in the order of the stream.
            unsafe { stream.zero(buffer.memory.address, bytes)? };
        }
        Ok(buffer)
    }

    /// New memory with these values.
    pub(crate) fn of<T: Copy>(stream: Stream, values: &[T]) -> Result<CudaBuffer> {
        let buffer = CudaBuffer::allocated(stream, size_of_val(values))?;
        if !values.is_empty() {
            // SAFETY: it has just been allocated for them.
            unsafe { stream.write(buffer.memory.address, values)? };
        }
        Ok(buffer)
    }

    fn allocated(stream: Stream, bytes: usize) -> Result<CudaBuffer> {
        let address = stream.allocate(bytes)?;
        Ok(CudaBuffer { stream, memory: DeviceBytes { address, bytes }, is_borrowed: false })
    }

    /// Where it is, for whoever uses the device too: in the order of the stream.
    pub fn device_bytes(&self) -> DeviceBytes {
        self.memory
    }
}

impl Cuda {
    /// The caller's memory as a buffer, which is never given back here.
    ///
    /// # Safety
    /// Until the stream has done all that was begun with the buffer: the device can read so many bytes there, and nobody else
    /// writes to them; where the buffer is written to, the device can write them, and nobody else reads them. Two buffers
    /// that something is moved between do not overlap. Packed elements are written by atomic operations on whole words, of
    /// which what is beside the memory stays as it is, but has to be there. A graph that the stream is captured into is replayed under the same
    /// conditions.
    pub unsafe fn borrowed(&self, memory: DeviceBytes) -> CudaBuffer {
        CudaBuffer { stream: self.stream, memory, is_borrowed: true }
    }

    /// Copies all bytes of a buffer to another of as many: [`Cuda::wait`] waits for it.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if it has more or less of them; nothing is begun then. [`Error::DeviceFailed`], also if one of
    /// them is another stream's.
    pub fn copy(&self, src: &CudaBuffer, dst: &mut CudaBuffer) -> Result<()> {
        check_sizes(("data", src.memory.bytes), ("out", dst.memory.bytes))?;
        self.check_buffers(&[src, dst])?;
        match src.memory.bytes {
            0 => Ok(()),
            // SAFETY: so many are at both, one of which is borrowed for this alone. Memory of their own is given back in the
            // order of the stream, and that of the caller is there until it has done this.
            bytes => unsafe { self.stream.copy(src.memory.address, dst.memory.address, bytes) },
        }
    }

    /// The bytes of a buffer, when all is done that was begun on the stream.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`], also if the buffer is another stream's.
    pub fn read(&self, buffer: &CudaBuffer) -> Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.memory.bytes];
        self.read_into(buffer, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies the first bytes of a buffer to the host's memory, when all is done that was begun on the stream.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the buffer is shorter; nothing has been written then. [`Error::DeviceFailed`], also if the
    /// buffer is another stream's.
    pub fn read_into(&self, buffer: &CudaBuffer, bytes: &mut [u8]) -> Result<()> {
        check_buffer("data", bytes.len(), buffer.memory.bytes)?;
        self.check_buffers(&[buffer])?;
        match bytes {
            [] => self.wait(),
            // SAFETY: so many are there.
            bytes => unsafe { self.stream.read(buffer.memory.address, bytes) },
        }
    }

    /// Copies bytes of the host to the beginning of a buffer, when all is done that was begun on the stream.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the buffer is shorter; nothing has been written then. [`Error::DeviceFailed`], also if the
    /// buffer is another stream's.
    pub fn write(&self, buffer: &mut CudaBuffer, bytes: &[u8]) -> Result<()> {
        check_buffer("out", bytes.len(), buffer.memory.bytes)?;
        self.check_buffers(&[buffer])?;
        match bytes {
            [] => Ok(()),
            // SAFETY: so many are there, and nobody else has them.
            bytes => unsafe { self.stream.write(buffer.memory.address, bytes) },
        }
    }

    /// Refuses buffers of other streams, and memory that would be gone when a graph is replayed.
    pub(crate) fn check_buffers(&self, buffers: &[&CudaBuffer]) -> Result<()> {
        if let Some(other) = buffers.iter().find(|buffer| !buffer.stream.is(self.stream)) {
            let message = format!("{other:?} is of another stream than {self:?}");
            return Err(Error::DeviceFailed { message });
        }
        match buffers.iter().all(|buffer| buffer.is_borrowed) {
            true => Ok(()),
            false => self
                .stream
                .check_no_capture("a buffer of its own may be gone when that is replayed"),
        }
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        if !self.is_borrowed {
            // SAFETY: it was allocated there, and is nobody else's: only what has been begun still uses it.
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
