//! Memory for the described tensors, or invalid pointers.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use libfuzzer_sys::arbitrary::{Result, Unstructured};

use crate::tensor::Tensor;

/// The largest allocation for one tensor, in bytes.
pub(crate) const MOST_BYTES: i128 = 1 << 14;
/// More memory than any process has. The library rejects tensors that extend further.
const ALL_MEMORY: i128 = 1 << 57;
/// The memory that tensors may share.
pub(crate) const ARENA_BYTES: usize = 1 << 12;

pub(crate) struct TensorMemory {
    pub(crate) pointer: *mut c_void,
    /// Unused if the tensor is in the arena.
    pub(crate) own: Vec<u64>,
}

/// The case is skipped.
pub(crate) struct TooMuch;

impl TensorMemory {
    pub(crate) fn any(
        bytes: &mut Unstructured<'_>,
        tensor: &Tensor,
        arena: &mut [u64],
    ) -> Result<std::result::Result<TensorMemory, TooMuch>> {
        let nowhere = |address| TensorMemory { pointer: without_provenance_mut(address), own: vec![] };
        let known = tensor.width().is_some();
        let reach = match tensor.reach() {
            Some(reach) if known && (reach.end - reach.start) <= MOST_BYTES => reach,
            // The tensor extends beyond all memory, or its type is unknown. The call must fail before it
            // accesses memory.
            Some(reach) if known && reach.end - reach.start <= ALL_MEMORY => {
                return Ok(Err(TooMuch));
            }
            _ => return Ok(Ok(nowhere(4096))),
        };
        if bytes.ratio(1, 64)? {
            return Ok(Ok(TensorMemory { pointer: null_mut(), own: vec![] }));
        }
        let (before, length) = (-reach.start as usize, (reach.end - reach.start) as usize);
        let off = if bytes.ratio(1, 16)? { bytes.int_in_range(1..=7)? } else { 0 };
        if length + off <= ARENA_BYTES && bytes.ratio(1, 3)? {
            let at = bytes.int_in_range(0..=(ARENA_BYTES - length - off) / 8)? * 8 + off;
            let pointer = arena.as_mut_ptr().cast::<u8>().wrapping_add(at + before).cast();
            return Ok(Ok(TensorMemory { pointer, own: vec![] }));
        }
        let mut own = vec![0u64; (length + off).div_ceil(8)];
        // Ends with the allocation, so that the sanitizer detects accesses beyond the tensor.
        let slack = own.len() * 8 - length;
        let at = if off > 0 { off } else { slack / 8 * 8 };
        let pointer = own.as_mut_ptr().cast::<u8>().wrapping_add(at + before).cast();
        Ok(Ok(TensorMemory { pointer, own }))
    }
}
