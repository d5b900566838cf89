//! Elements at indices that are a tensor of their own.

use std::ffi::c_void;

use trundle::ops::{GatherElements, GatherNd, Indices, Take};
use trundle::{DType, Error, IndexMap, Shape, programs};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::Memory;
use super::moved::Moved;
use super::pair::{Pair, check_shape};
use super::plan::{made, trundle_plan};
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

/// Plans trundle_gather() at these indices, which are read now and not again. The plan is written to
/// `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            let indices_desc = Descriptor::read("indices", indices_desc)?;
            pair.check_indices(&indices_desc, axis)?;
            let memory = indices_desc.memory(indices.cast())?;
            if pair.out.layout().shape().elements() == 0 {
                return Ok(Assembled::of_nothing(pair.data, pair.out)?.into());
            }
            let indices = read_indices(&indices_desc, &memory)?;
            Ok(Moved::new(pair, Take::new(axis, indices))?.into())
        })
    }
}

/// Takes, for each position of the indices, the element of its row along `axis`, at the index that stands
/// there: out[i][j][k] = data[i][indices[i][j][k]][k] along the middle one of three axes.
/// GatherElements of ONNX and OpenVINO, numpy's take_along_axis.
///
/// `indices` is a tensor of i32 or i64 of as many axes as `data`, and along the others than `axis` of its
/// size, or of fewer: then they are for the first positions. Indices and a negative `axis` are as in
/// trundle_gather(). `out` has the type of `data` and the sizes of the indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_elements(
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
        let at = Descriptor::read("indices", indices_desc)?;
        check_indices(&at)?;
        let shape = pair.data.layout().shape();
        let expected = GatherElements::out_shape(shape, at.layout().shape(), axis)?;
        check_shape("out", &expected, &pair.out)?;
        gathered(pair, (data, out), (&at, indices), |indices, shape| {
            GatherElements::new(axis, indices).index_map(shape)
        })
    })
}

/// Takes the elements, or slices, at indices of several axes together: the last axis of `indices` has one for
/// each of these. GatherND of ONNX and OpenVINO.
///
/// The first `batch_axes` axes of `data` and of the indices are the same, and each element of `out` is of its
/// own batch; the axes after them are those that are indexed. `indices` is a tensor of i32 or i64; what they
/// are is as in trundle_gather(). `out` has the type of `data`, and the sizes of the indices without their last
/// axis, followed by those of the axes of `data` that are not indexed. For an `out` without elements no index
/// is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_nd(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    batch_axes: u32,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let at = Descriptor::read("indices", indices_desc)?;
        check_indices(&at)?;
        let (shape, batch_axes) = (pair.data.layout().shape(), batch_axes as usize);
        let expected = GatherNd::out_shape(shape, at.layout().shape(), batch_axes)?;
        check_shape("out", &expected, &pair.out)?;
        gathered(pair, (data, out), (&at, indices), |indices, shape| {
            GatherNd::new(batch_axes, indices).index_map(shape)
        })
    })
}

/// Writes the elements to which `map` leads, once it is known that the output is apart from all that is read.
///
/// # Safety
/// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
unsafe fn gathered(
    pair: Pair,
    (data, out): (*const c_void, *mut c_void),
    (indices_desc, indices): (&Descriptor, *const c_void),
    map: impl FnOnce(Indices, &Shape) -> trundle::Result<IndexMap>,
) -> Result<()> {
    let others = [indices_desc.memory(indices.cast())?];
    pair.memory(data, out, &others)?;
    if pair.out.layout().shape().elements() == 0 {
        return Ok(());
    }
    let (shape, width) = described(&pair.data);
    // SAFETY: the contract is the same.
    let indices = unsafe { read_indices(indices_desc, &others[0])? };
    let program = programs::moved(shape, width, map(indices, shape)?)?;
    let plan = Assembled::new(&program, vec![pair.data], pair.out)?;
    // SAFETY: the same.
    unsafe { plan.run(&[data], out, &others) }
}

/// Checks that indices are of a type that they may have.
pub(crate) fn check_indices(indices: &Descriptor) -> Result<()> {
    let types = [DType::I32, DType::I64];
    if types.contains(&indices.dtype()) {
        return Ok(());
    }
    let (expected, got) = (types.to_vec(), indices.dtype());
    Err(Error::DTypeMismatch { argument: "indices", expected, got }.into())
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
