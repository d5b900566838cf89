//! Buffers in device memory.

use trundle_core::{Error, Result, check_buffer, check_sizes};
use wgpu::{BufferDescriptor, BufferUsages, ErrorFilter, MapMode};

use crate::Wgpu;

/// A buffer in device memory.
#[derive(Debug)]
pub struct DeviceBuffer {
    pub(crate) buffer: wgpu::Buffer,
    bytes: usize,
}

/// Maximum number of bytes per copy between host and device, and the size of the staging memory.
const COPIED: usize = 32 << 20;

impl DeviceBuffer {
    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the buffer of wgpu, for other code. It may end with a few padding bytes.
    pub fn wgpu(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Wgpu {
    pub(crate) fn new_buffer(&self, bytes: usize) -> Result<DeviceBuffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        Ok(DeviceBuffer { buffer: self.allocated(bytes, usage)?, bytes })
    }

    /// Allocates at least one byte, rounded up to a multiple of 16.
    pub(crate) fn allocated(&self, bytes: usize, usage: BufferUsages) -> Result<wgpu::Buffer> {
        let too_large =
            || Error::too_large(format!("a buffer of {bytes} bytes on {}", self.name()));
        let size = bytes.max(1).checked_next_multiple_of(16).ok_or_else(too_large)? as u64;
        if size > self.limits.max_buffer_size {
            return Err(too_large());
        }
        let scope = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let descriptor =
            BufferDescriptor { label: Some("trundle"), size, usage, mapped_at_creation: false };
        let buffer = self.device.create_buffer(&descriptor);
        match pollster::block_on(scope.pop()) {
            None => self.faults.check().map(|()| buffer),
            Some(_) => Err(too_large()),
        }
    }

    /// Copies host bytes to the start of a buffer.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the buffer is shorter. It is unchanged
    /// then. [`Error::DeviceFailed`] if the device fails.
    pub fn write(&self, buffer: &mut DeviceBuffer, bytes: &[u8]) -> Result<()> {
        check_buffer("out", bytes.len(), buffer.bytes)?;
        self.written(&buffer.buffer, bytes)
    }

    /// Copies host bytes to the start of a buffer that is large enough.
    pub(crate) fn written(&self, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<()> {
        for (number, part) in bytes.chunks(COPIED).enumerate() {
            let (words, rest) = part.split_at(part.len() / 4 * 4);
            let offset = (number * COPIED) as u64;
            if !words.is_empty() {
                self.queue.write_buffer(buffer, offset, words);
            }
            if !rest.is_empty() {
                let mut last = [0; 4];
                last[..rest.len()].copy_from_slice(rest);
                self.queue.write_buffer(buffer, offset + words.len() as u64, &last);
            }
            if part.len() == COPIED {
                // The wait frees staging memory of wgpu for the next piece.
                self.queue.submit([]);
                self.wait()?;
            }
        }
        self.faults.check()
    }

    /// Submits a copy of all bytes of `src` to `dst`, which has the same size. Use [`Wgpu::wait`] to wait for it.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the sizes differ. `dst` is unchanged then.
    /// [`Error::DeviceFailed`] if the device fails.
    pub fn copy(&self, src: &DeviceBuffer, dst: &mut DeviceBuffer) -> Result<()> {
        check_sizes(("data", src.bytes), ("out", dst.bytes))?;
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let size = src.bytes.next_multiple_of(4) as u64;
        encoder.copy_buffer_to_buffer(&src.buffer, 0, &dst.buffer, 0, size);
        self.queue.submit([encoder.finish()]);
        self.faults.check()
    }

    /// Waits for all submitted work and returns the contents of a buffer.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if the device fails, [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if
    /// there is not enough memory for the copy.
    pub fn read(&self, buffer: &DeviceBuffer) -> Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.bytes];
        self.read_into(buffer, &mut bytes)?;
        Ok(bytes)
    }

    /// Waits for all submitted work, then copies the first `bytes.len()` bytes of the buffer to the host.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the buffer is shorter. `bytes` is
    /// unchanged then. Also the errors of [`Wgpu::read`].
    pub fn read_into(&self, buffer: &DeviceBuffer, bytes: &mut [u8]) -> Result<()> {
        check_buffer("data", bytes.len(), buffer.bytes)?;
        if bytes.is_empty() {
            return self.wait();
        }
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let between = self.allocated(bytes.len().min(COPIED), usage)?;
        for (number, part) in bytes.chunks_mut(COPIED).enumerate() {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let size = part.len().next_multiple_of(4) as u64;
            let offset = (number * COPIED) as u64;
            encoder.copy_buffer_to_buffer(&buffer.buffer, offset, &between, 0, size);
            self.queue.submit([encoder.finish()]);
            let mapped = between.slice(..size);
            mapped.map_async(MapMode::Read, |_| {});
            self.wait()?;
            let view = mapped
                .get_mapped_range()
                .map_err(|error| Error::DeviceFailed { message: error.to_string() })?;
            part.copy_from_slice(&view[..part.len()]);
            drop(view);
            between.unmap();
        }
        self.faults.check()
    }
}
