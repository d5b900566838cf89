//! Scratch memory for a tensor, which a call uses and then frees.

use pyo3::prelude::*;

use crate::error::out_of_memory;
use crate::gpu::GpuScratch;
use crate::memory::{Extent, Memory, contiguous_bytes};
use crate::place::Place;
use crate::recycled::Block;

pub(crate) struct Apart {
    memory: Memory,
    // Either `_block` or `_scratch` owns the memory.
    _block: Option<Block>,
    _scratch: Option<GpuScratch>,
}

impl Apart {
    /// Allocates a tensor at a place.
    ///
    /// # Errors
    /// MemoryError if the memory cannot be allocated.
    pub(crate) fn new(
        py: Python<'_>,
        place: Place,
        sizes: &[isize],
        width: usize,
    ) -> PyResult<Apart> {
        let bytes = contiguous_bytes(sizes, width);
        let memory = |extent| Memory::contiguous(extent, sizes, width);
        if let Some(gpu) = place.gpu() {
            let scratch = GpuScratch::new(py, gpu, bytes)?;
            let memory = memory(scratch.extent());
            return Ok(Apart { memory, _block: None, _scratch: Some(scratch) });
        }
        let block = Block::new(bytes).ok_or_else(|| out_of_memory(bytes))?;
        let memory = memory(Extent { start: block.start(), bytes, place });
        Ok(Apart { memory, _block: Some(block), _scratch: None })
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }
}
