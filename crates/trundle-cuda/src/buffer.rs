//! Memory of a device.

use std::fmt;
use std::sync::Arc;

use trundle_core::{Error, Result, check_buffer};

use crate::driver::Context;
use crate::{Cuda, DeviceBytes};

/// Bytes in a device's memory, which are given back with it.
pub struct CudaBuffer {
    context: Arc<Context>,
    memory: DeviceBytes,
}

impl CudaBuffer {
    /// New memory of so many bytes, all of them 0.
    pub(crate) fn new(cuda: &Cuda, bytes: usize) -> Result<CudaBuffer> {
        let address = cuda.context.allocate(bytes)?;
        Ok(CudaBuffer {
            context: Arc::clone(&cuda.context),
            memory: DeviceBytes { address, bytes },
        })
    }

    /// New memory with these values.
    pub(crate) fn of<T: Copy>(cuda: &Cuda, values: &[T]) -> Result<CudaBuffer> {
        let buffer = CudaBuffer::new(cuda, size_of_val(values))?;
        if !values.is_empty() {
            // SAFETY: it has just been allocated for them.
            unsafe { cuda.context.write(buffer.memory.address, values)? };
        }
        Ok(buffer)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Where it is, for whoever uses the device too.
    pub fn device_bytes(&self) -> DeviceBytes {
        self.memory
    }
}

impl Cuda {
    /// Copies all bytes of a buffer to another of as many, in the order of the default stream: [`Cuda::wait`] waits for it.
    ///
    /// # Errors
    /// [`Error::SizesDiffer`] if it has more or less of them; nothing is begun then. [`Error::DeviceFailed`], also if one of
    /// them is another device's.
    pub fn copy(&self, src: &CudaBuffer, dst: &mut CudaBuffer) -> Result<()> {
        let [left_size, right_size] = [src.memory.bytes, dst.memory.bytes];
        if left_size != right_size {
            return Err(Error::SizesDiffer { left: "data", right: "out", left_size, right_size });
        }
        if ![src.context(), dst.context()].iter().all(|it| it.is(&self.context)) {
            let message = format!("a buffer is not of {}", self.name());
            return Err(Error::DeviceFailed { message });
        }
        match left_size {
            0 => Ok(()),
            // SAFETY: so many are at both, one of which is borrowed for this alone. Memory is given back when the default stream is done.
            bytes => unsafe { self.context.copy(src.memory.address, dst.memory.address, bytes) },
        }
    }

    /// The bytes of a buffer, when all is done that was begun on the default stream.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`].
    pub fn read(&self, buffer: &CudaBuffer) -> Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.memory.bytes];
        self.read_into(buffer, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies the first bytes of a buffer to the host's memory, when all is done that was begun on the default stream.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if the buffer is shorter; nothing has been written then. [`Error::DeviceFailed`].
    pub fn read_into(&self, buffer: &CudaBuffer, bytes: &mut [u8]) -> Result<()> {
        check_buffer("data", bytes.len(), buffer.memory.bytes)?;
        match bytes {
            [] => self.wait(),
            // SAFETY: so many are there.
            bytes => unsafe { buffer.context.read(buffer.memory.address, bytes) },
        }
    }

    /// Copies bytes of the host to the beginning of a buffer, in the order of the default stream.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if the buffer is shorter; nothing has been written then. [`Error::DeviceFailed`].
    pub fn write(&self, buffer: &mut CudaBuffer, bytes: &[u8]) -> Result<()> {
        check_buffer("out", bytes.len(), buffer.memory.bytes)?;
        match bytes {
            [] => Ok(()),
            // SAFETY: so many are there, and nobody else has them.
            bytes => unsafe { buffer.context.write(buffer.memory.address, bytes) },
        }
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated there, and is nobody else's: what the default stream still does with it is done before.
        unsafe { self.context.free(self.memory.address) };
    }
}

impl fmt::Debug for CudaBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaBuffer({:?} on {})", self.memory, self.context.name)
    }
}
