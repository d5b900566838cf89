//! Elements at indices that are a tensor of their own.

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
        Gather::read(Kind::Axis(axis), data_desc, indices_desc, out_desc)?.run(data, indices, out)
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
            Gather::read(Kind::Axis(axis), data_desc, indices_desc, out_desc)?.plan(indices)
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
        Gather::read(Kind::Elements(axis), data_desc, indices_desc, out_desc)?
            .run(data, indices, out)
    })
}

/// Plans trundle_gather_elements() at these indices, which are read now and not again. The plan is
/// written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_elements_plan(
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
            Gather::read(Kind::Elements(axis), data_desc, indices_desc, out_desc)?.plan(indices)
        })
    }
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
        Gather::read(Kind::Nd(batch_axes), data_desc, indices_desc, out_desc)?
            .run(data, indices, out)
    })
}

/// Plans trundle_gather_nd() at these indices, which are read now and not again. The plan is
/// written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_nd_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    batch_axes: u32,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            Gather::read(Kind::Nd(batch_axes), data_desc, indices_desc, out_desc)?.plan(indices)
        })
    }
}

/// What the indices of a gather mean.
#[derive(Clone, Copy)]
enum Kind {
    /// Positions of an axis, in whose place the axes of the indices come.
    Axis(i64),
    /// One for each element of the output, along an axis.
    Elements(i64),
    /// Several together for each slice of the output, behind so many batch axes.
    Nd(u32),
}

impl Kind {
    /// The shape of what is gathered.
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

/// The tensors of a gather, which fit each other.
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
        // SAFETY: the contract is the same.
        let (pair, indices) =
            unsafe { (Pair::read(data, out)?, Descriptor::read("indices", indices)?) };
        check_indices(&indices)?;
        let expected = kind.out_shape(pair.data.layout().shape(), indices.layout().shape())?;
        check_shape("out", &expected, &pair.out)?;
        Ok(Gather { kind, pair, indices })
    }

    /// The plan for the indices at this address.
    ///
    /// # Safety
    /// An address that is not null and aligned leads to the indices.
    unsafe fn plan(self, indices: *const c_void) -> Result<trundle_plan> {
        let memory = self.indices.memory(indices.cast())?;
        // SAFETY: the contract is the same.
        unsafe { self.planned(&memory) }
    }

    /// Writes the elements at the indices, once it is known that the output is apart from all that is read.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
    unsafe fn run(
        self,
        data: *const c_void,
        indices: *const c_void,
        out: *mut c_void,
    ) -> Result<()> {
        let others = [self.indices.memory(indices.cast())?];
        self.pair.memory(data, out, &others)?;
        // SAFETY: the contract is the same.
        unsafe { self.planned(&others[0])?.run(&[data], &[out], &others) }
    }

    /// # Safety
    /// As [`Memory::read`].
    unsafe fn planned(self, indices: &Memory) -> Result<trundle_plan> {
        if self.pair.out.layout().shape().elements() == 0 {
            return Ok(Assembled::of_nothing(self.pair.data, self.pair.out)?.into());
        }
        // SAFETY: the contract is the same.
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
