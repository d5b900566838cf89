//! Scratch memory for a tensor during a call.

use pyo3::prelude::*;

use crate::device::ArrayDevice;
use crate::error::out_of_memory;
use crate::gpu::GpuScratch;
use crate::memory::{ArrayMemory, Extent, contiguous_bytes};
use crate::recycled::Block;

pub(crate) struct Apart {
    memory: ArrayMemory,
    // Either `_block` or `_scratch` owns the memory.
    _block: Option<Block>,
    _scratch: Option<GpuScratch>,
}

impl Apart {
    /// Allocates a tensor on a device.
    ///
    /// # Errors
    /// MemoryError if the memory cannot be allocated.
    pub(crate) fn new(
        py: Python<'_>,
        device: ArrayDevice,
        sizes: &[isize],
        width: usize,
    ) -> PyResult<Apart> {
        let bytes = contiguous_bytes(sizes, width);
        let memory = |extent| ArrayMemory::contiguous(extent, sizes, width);
        if let Some(gpu) = device.gpu() {
            let scratch = GpuScratch::new(py, gpu, bytes)?;
            let memory = memory(scratch.extent());
            return Ok(Apart { memory, _block: None, _scratch: Some(scratch) });
        }
        let block = Block::new(bytes).ok_or_else(|| out_of_memory(bytes))?;
        let memory = memory(Extent { start: block.start(), bytes, device });
        Ok(Apart { memory, _block: Some(block), _scratch: None })
    }

    pub(crate) fn memory(&self) -> &ArrayMemory {
        &self.memory
    }
}
