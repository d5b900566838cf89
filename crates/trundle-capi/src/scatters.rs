//! Elements put at indices: a tensor with those of another in some places.

use std::ffi::c_void;

use trundle::ops::{GatherElements, GatherNd, Indices};
use trundle::{IndexMap, Shape, programs};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::gathers::{check_indices, read_indices};
use super::memory::Memory;
use super::pair::{Pair, check_shape, check_types};
use super::status::trundle_status;

/// Writes the elements of `data`, and over them, for each position of the indices, the element of `updates`: to
/// its row along `axis`, at the index that stands there. Along the middle one of three axes
/// out[i][indices[i][j][k]][k] = updates[i][j][k]. ScatterElements of ONNX and OpenVINO without a reduction;
/// numpy's put_along_axis, but to another tensor.
///
/// `indices` is a tensor of i32 or i64 of as many axes as `data`, and along the others than `axis` of its
/// size, or of fewer: then they are for the first positions. Those from -size to -1 count from the end of the
/// axis; others below 0, and those from its size on, are refused. Of several for one place the last counts,
/// in row-major order of the indices. A negative `axis` counts from the end. `updates` has the type of `data`
/// and the sizes of the indices; `out` has the type and the sizes of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_scatter_elements(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    updates_desc: *const trundle_tensor_desc,
    updates: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let scatter = Scatter::read(data_desc, indices_desc, updates_desc, out_desc)?;
        let [shape, at] = scatter.shapes();
        check_shape("updates", &GatherElements::out_shape(shape, at, axis)?, &scatter.updates)?;
        scatter.run([data, indices, updates], out, |indices, shape| {
            GatherElements::new(axis, indices).index_map(shape)
        })
    })
}

/// Writes the elements of `data`, and over them the elements, or slices, of `updates`, at indices of several axes
/// together: the last axis of `indices` has one for each of the first axes of `data`. ScatterND of ONNX and
/// OpenVINO without a reduction.
///
/// `indices` is a tensor of i32 or i64; what they are, and which of several for one place counts, is as in
/// trundle_scatter_elements(). `updates` has the type of `data`, and the sizes of the indices without their
/// last axis, followed by those of the axes of `data` that are not indexed; where that is one element without
/// axes, it may have any number of axes of one. `out` has the type and the sizes of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_scatter_nd(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    updates_desc: *const trundle_tensor_desc,
    updates: *const c_void,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let scatter = Scatter::read(data_desc, indices_desc, updates_desc, out_desc)?;
        let [shape, at] = scatter.shapes();
        let expected = GatherNd::out_shape(shape, at, 0)?;
        if expected.rank() > 0 || scatter.updates.layout().shape().elements() != 1 {
            check_shape("updates", &expected, &scatter.updates)?;
        }
        scatter.run([data, indices, updates], out, |indices, shape| {
            GatherNd::new(0, indices).index_map(shape)
        })
    })
}

/// The tensors of a scatter, whose types fit.
struct Scatter {
    pair: Pair,
    indices: Descriptor,
    updates: Descriptor,
}

impl Scatter {
    /// # Safety
    /// As [`Descriptor::read`], for each.
    unsafe fn read(
        data: *const trundle_tensor_desc,
        indices: *const trundle_tensor_desc,
        updates: *const trundle_tensor_desc,
        out: *const trundle_tensor_desc,
    ) -> Result<Scatter> {
        // SAFETY: the contract is the same.
        unsafe {
            let pair = Pair::read(data, out)?;
            let indices = Descriptor::read("indices", indices)?;
            check_indices(&indices)?;
            let updates = Descriptor::read("updates", updates)?;
            check_types("updates", &pair.data, &updates)?;
            check_shape("out", pair.data.layout().shape(), &pair.out)?;
            Ok(Scatter { pair, indices, updates })
        }
    }

    /// The shapes of the data and of the indices.
    fn shapes(&self) -> [&Shape; 2] {
        [self.pair.data.layout().shape(), self.indices.layout().shape()]
    }

    /// Writes the data with the updates where `places` leads, once it is known that the output is apart from all that
    /// is read.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
    unsafe fn run(
        self,
        [data, indices, updates]: [*const c_void; 3],
        out: *mut c_void,
        places: impl FnOnce(Indices, &Shape) -> trundle::Result<IndexMap>,
    ) -> Result<()> {
        let others: [Memory; 2] =
            [self.indices.memory(indices.cast())?, self.updates.memory(updates.cast())?];
        self.pair.memory(data, out, &others)?;
        // SAFETY: the contract is the same.
        let indices = unsafe { read_indices(&self.indices, &others[0])? };
        let (shape, width) = described(&self.pair.data);
        let places = places(indices, shape)?;
        let program = programs::updated(shape, self.updates.layout().shape(), width, &places)?;
        let inputs = vec![self.pair.data, self.updates];
        let plan = Assembled::new(&program, inputs, self.pair.out)?;
        // SAFETY: the same.
        unsafe { plan.run(&[data, updates], out, &others[..1]) }
    }
}
