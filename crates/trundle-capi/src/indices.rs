//! Indices that a caller passes as a tensor.

use trundle::ops::Indices;
use trundle::{DType, DTypeError, Error};

use super::descriptor::Descriptor;
use super::error::Result;
use super::memory::Memory;

/// Checks that indices are of i32 or i64.
pub(crate) fn check_indices(indices: &Descriptor) -> Result<()> {
    let types = [DType::I32, DType::I64];
    if types.contains(&indices.dtype()) {
        return Ok(());
    }
    let (expected, got) = (types.to_vec(), indices.dtype());
    Err(DTypeError::DTypeMismatch { argument: "indices", expected, got }.into())
}

/// Reads indices of i32 or i64.
///
/// # Safety
/// As [`Memory::read`].
pub(crate) unsafe fn read_indices(desc: &Descriptor, memory: &Memory) -> Result<Indices> {
    // SAFETY: the caller guarantees what [`Memory::read`] requires.
    let bytes = unsafe { memory.read() };
    let (layout, shape) = (desc.layout(), desc.layout().shape());
    let mut values = Vec::new();
    let too_large = |_| Error::too_large(format!("indices of shape {shape}"));
    values.try_reserve_exact(shape.elements()).map_err(too_large)?;
    let is_narrow = desc.dtype() == DType::I32;
    shape.for_each_index(|index| {
        let bytes = &bytes[layout.offset_of(index)..];
        values.push(match is_narrow {
            true => i32::from_ne_bytes(std::array::from_fn(|at| bytes[at])).into(),
            false => i64::from_ne_bytes(std::array::from_fn(|at| bytes[at])),
        });
    });
    Ok(Indices::new(shape.clone(), values)?)
}
