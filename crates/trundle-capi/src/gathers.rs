//! Gathers: elements at indices given as a tensor.

use std::ffi::c_void;

use trundle::ops::{GatherElements, GatherNd, Take};
use trundle::{Shape, normalize_axis, programs};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::indices::{check_indices, read_indices};
use super::memory::Memory;
use super::moved::Moved;
use super::pair::{Pair, check_shape};
use super::plan::{made, trundle_plan};
use super::status::trundle_status;

/// Gathers slices at indices along one axis; the axes of the indices replace that axis. Same as Gather of ONNX and
/// OpenVINO, and numpy's take.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64, of any sizes. Indices from -size to -1 count from the end
///   of the axis.
/// - `axis`: the axis to index. A negative axis counts from the end.
/// - `out_desc`, `out`: the output, with the type of the input. Its sizes are those of the input, with the sizes of
///   the indices in place of `axis`.
///
/// Returns TRUNDLE_ERROR_INDEX if an index is out of range, TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or
/// TRUNDLE_ERROR_DTYPE. If the output has no elements, the indices are not read.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        Gather::read(Kind::Axis(axis), data_desc, indices_desc, out_desc)?.run(data, indices, out)
    })
}

/// Plans trundle_gather() at the given indices and writes the plan to `plan`. The indices are read only during this
/// call. The caller frees the plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            Gather::read(Kind::Axis(axis), data_desc, indices_desc, out_desc)?.plan(indices)
        })
    }
}

/// Gathers one element for each index: out[i][j][k] = data[i][indices[i][j][k]][k] along the middle one of three
/// axes. Same as GatherElements of ONNX and OpenVINO, and numpy's take_along_axis.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64 with the rank of the input. On axes other than `axis` its
///   size is at most the input's; a smaller size reads only the first positions. Indices are as in
///   trundle_gather().
/// - `axis`: the axis to index. A negative axis counts from the end.
/// - `out_desc`, `out`: the output, with the type of the input and the sizes of the indices.
///
/// Returns the errors of trundle_gather().
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        Gather::read(Kind::Elements(axis), data_desc, indices_desc, out_desc)?
            .run(data, indices, out)
    })
}

/// Plans trundle_gather_elements() at the given indices and writes the plan to `plan`. The indices are read only during
/// this call. The caller frees the plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_elements_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            Gather::read(Kind::Elements(axis), data_desc, indices_desc, out_desc)?.plan(indices)
        })
    }
}

/// Gathers elements or slices at indices of several axes. Each row of the last axis of `indices` is one position,
/// with one index for each indexed axis. Same as GatherND of ONNX and OpenVINO.
///
/// - `data_desc`, `data`: the input. Its axes are `batch_axes` batch axes, then the indexed axes, then the axes of
///   the slices.
/// - `indices_desc`, `indices`: a tensor of i32 or i64, with at least one axis more than `batch_axes`. Its first
///   `batch_axes` sizes are the input's. Indices are as in trundle_gather().
/// - `batch_axes`: the number of leading axes that the input and the indices share. Each element of the output
///   comes from its own batch.
/// - `out_desc`, `out`: the output, with the type of the input. Its sizes are those of the indices without the last
///   axis, followed by the sizes of the slices.
///
/// Returns the errors of trundle_gather(), or TRUNDLE_ERROR_NUMBER if the input has too few axes for the indices.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        Gather::read(Kind::Nd(batch_axes), data_desc, indices_desc, out_desc)?
            .run(data, indices, out)
    })
}

/// Plans trundle_gather_nd() at the given indices and writes the plan to `plan`. The indices are read only during this
/// call. The caller frees the plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_nd_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    batch_axes: u32,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            Gather::read(Kind::Nd(batch_axes), data_desc, indices_desc, out_desc)?.plan(indices)
        })
    }
}

/// The meaning of the indices of a gather.
#[derive(Clone, Copy)]
enum Kind {
    /// Positions along this axis, which the axes of the indices replace.
    Axis(i64),
    /// One index along this axis for each element of the output.
    Elements(i64),
    /// One index for each indexed axis, behind this number of batch axes.
    Nd(u32),
}

impl Kind {
    /// Returns the shape of the output.
    fn out_shape(self, shape: &Shape, indices: &Shape) -> Result<Shape> {
        Ok(match self {
            Kind::Axis(axis) => {
                let axis = normalize_axis("axis", axis, shape.rank())?;
                Shape::new([&shape[..axis], &indices[..], &shape[axis + 1..]].concat())?
            }
            Kind::Elements(axis) => GatherElements::out_shape(shape, indices, axis)?,
            Kind::Nd(batch_axes) => GatherNd::out_shape(shape, indices, batch_axes as usize)?,
        })
    }
}

/// The tensors of a gather, with matching types and shapes.
struct Gather {
    kind: Kind,
    pair: Pair,
    indices: Descriptor,
}

impl Gather {
    /// # Safety
    /// As [`Descriptor::read`], for each.
    unsafe fn read(
        kind: Kind,
        data: *const trundle_tensor_desc,
        indices: *const trundle_tensor_desc,
        out: *const trundle_tensor_desc,
    ) -> Result<Gather> {
        // SAFETY: the caller guarantees valid descriptions.
        let (pair, indices) =
            unsafe { (Pair::read(data, out)?, Descriptor::read("indices", indices)?) };
        check_indices(&indices)?;
        let expected = kind.out_shape(pair.data.layout().shape(), indices.layout().shape())?;
        check_shape("out", &expected, &pair.out)?;
        Ok(Gather { kind, pair, indices })
    }

    /// Plans the gather for the indices at this address.
    ///
    /// # Safety
    /// An address that is aligned and not null points to the indices.
    unsafe fn plan(self, indices: *const c_void) -> Result<trundle_plan> {
        let memory = self.indices.memory(indices.cast())?;
        // SAFETY: the caller guarantees that the indices are at this address.
        unsafe { self.planned(&memory) }
    }

    /// Checks that the output overlaps no input, and writes the gathered elements.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the output.
    unsafe fn run(
        self,
        data: *const c_void,
        indices: *const c_void,
        out: *mut c_void,
    ) -> Result<()> {
        let others = [self.indices.memory(indices.cast())?];
        self.pair.memory(data, out, &others)?;
        // SAFETY: the caller owns the memory of all tensors.
        unsafe { self.planned(&others[0])?.run(&[data], &[out], &others) }
    }

    /// # Safety
    /// As [`Memory::read`].
    unsafe fn planned(self, indices: &Memory) -> Result<trundle_plan> {
        if self.pair.out.layout().shape().elements() == 0 {
            return Ok(Assembled::of_nothing(self.pair.data, self.pair.out)?.into());
        }
        // SAFETY: the caller guarantees what [`Memory::read`] requires.
        let indices = unsafe { read_indices(&self.indices, indices)? };
        let (shape, width) = described(&self.pair.data);
        let map = match self.kind {
            Kind::Axis(axis) => return Ok(Moved::new(self.pair, Take::new(axis, indices))?.into()),
            Kind::Elements(axis) => GatherElements::new(axis, indices).index_map(shape),
            Kind::Nd(batch_axes) => GatherNd::new(batch_axes as usize, indices).index_map(shape),
        }?;
        let program = programs::moved(shape, width, map)?;
        Ok(Assembled::new(&program, vec![self.pair.data], self.pair.out)?.into())
    }
}
