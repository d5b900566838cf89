//! Elements at indices that are a tensor of their own.

use std::ffi::c_void;

use trundle::ops::{Indices, Take};
use trundle::{DType, Error};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::Memory;
use super::moved::Moved;
use super::pair::Pair;
use super::status::trundle_status;

/// Takes the elements at indices of `axis`: the axes of the indices come in its place. Gather of
/// ONNX and OpenVINO, numpy's take.
///
/// `indices` is a tensor of i32 or i64 of any sizes. Those from -size to -1 count from the end of the
/// axis; others below 0, and those from its size on, are refused. A negative `axis` counts from
/// the end. `out` has the type of `data` and its sizes, with those of the indices in the place of
/// the axis. For an `out` without elements no index is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let indices_desc = Descriptor::read("indices", indices_desc)?;
        pair.check_indices(&indices_desc, axis)?;
        let others = [indices_desc.memory(indices.cast())?];
        pair.memory(data, out, &others)?;
        if pair.out.layout().shape().elements() == 0 {
            return Ok(());
        }
        let indices = read_indices(&indices_desc, &others[0])?;
        Moved::new(pair, Take::new(axis, indices))?.run(data, out, &others)
    })
}

/// The indices in this memory, of i32 or i64.
///
/// # Safety
/// As [`Memory::read`].
pub(crate) unsafe fn read_indices(desc: &Descriptor, memory: &Memory) -> Result<Indices> {
    // SAFETY: the contract is the same.
    let bytes = unsafe { memory.read() };
    let (layout, shape) = (desc.layout(), desc.layout().shape());
    let mut values = Vec::new();
    let too_large = |_| Error::TooLarge { what: format!("indices of shape {shape}") };
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
