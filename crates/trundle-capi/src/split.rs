//! What makes several tensors of one.

use std::ffi::c_void;

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, check_all_apart, list};
use super::pair::check_types;
use super::status::trundle_status;

/// One of several tensors that a call writes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_output {
    /// What it is.
    pub desc: *const trundle_tensor_desc,
    /// Where its element at index 0 of every axis is written.
    pub data: *mut c_void,
}

/// Writes a tensor in `count` parts, which follow each other along `axis`: what trundle_concatenate() makes
/// the tensor of. OpenVINO's Split-1 and VariadicSplit-1, numpy's split.
///
/// Each output says the size of its part on `axis`; together they fill the axis of `data`. Their other
/// sizes and their type are those of `data`, their strides any. A negative axis counts from the end. The
/// memory of each output must be apart from that of the others too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_split(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    outputs: *const trundle_output,
    count: usize,
    axis: i64,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let own = Descriptor::read("data", data_desc)?;
        let outputs = list("outputs", outputs, count)?;
        let descs = outputs.iter().enumerate().map(|(number, output)| {
            read_part(&own, output.desc).map_err(|failure| failure.of_output(number))
        });
        let descs = descs.collect::<Result<Vec<Descriptor>>>()?;
        let read = own.memory(data.cast())?;
        let others = [read, Memory::of("outputs", outputs)];
        let mut written = Vec::with_capacity(descs.len());
        for (number, (desc, output)) in descs.iter().zip(outputs).enumerate() {
            let memory = desc.memory(output.data.cast()).and_then(|memory| {
                others.iter().try_for_each(|other| memory.check_apart(other))?;
                Ok(memory)
            });
            written.push(memory.map_err(|failure| failure.of_output(number))?);
        }
        check_all_apart(&written).map_err(|(number, failure)| failure.of_output(number))?;
        let parts = descs.iter().zip(&written).enumerate().map(|(number, (desc, memory))| {
            desc.view_mut(memory).map_err(|failure| failure.of_output(number))
        });
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(trundle::split_into(&own.view(&read)?, axis, &mut parts)?)
    })
}

/// The description of one output, of the type that the data has.
///
/// # Safety
/// As [`Descriptor::read`].
unsafe fn read_part(data: &Descriptor, desc: *const trundle_tensor_desc) -> Result<Descriptor> {
    // SAFETY: the contract is the same.
    let desc = unsafe { Descriptor::read("out", desc)? };
    check_types("out", data, &desc)?;
    Ok(desc)
}
