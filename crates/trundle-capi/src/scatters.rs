//! Elements put at indices: a tensor with those of another in some places.

use std::ffi::c_void;
use std::sync::Arc;

use trundle::ops::{GatherElements, GatherNd, Indices};
use trundle::{Along, Chain, IndexMap, Shape, normalize_axis, programs};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::indices::{check_indices, read_indices};
use super::memory::Memory;
use super::moved::Moved;
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
        scatter.run(Kind::Elements { axis }, [data, indices, updates], out)
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
        scatter.run(Kind::Nd, [data, indices, updates], out)
    })
}

/// What the indices of a scatter mean.
#[derive(Clone, Copy)]
enum Kind {
    /// One for each update, along an axis.
    Elements { axis: i64 },
    /// Several together for each slice of the updates.
    Nd,
}

impl Kind {
    /// Checks the shape of the updates.
    fn check_updates(self, shape: &Shape, indices: &Shape, updates: &Descriptor) -> Result<()> {
        let expected = match self {
            Kind::Elements { axis } => GatherElements::out_shape(shape, indices, axis)?,
            Kind::Nd => GatherNd::out_shape(shape, indices, 0)?,
        };
        if expected.rank() == 0 && updates.layout().shape().elements() == 1 {
            return Ok(());
        }
        check_shape("updates", &expected, updates)
    }

    /// For each update the place of the data that it is put to.
    fn places(self, shape: &Shape, indices: Indices) -> Result<IndexMap> {
        Ok(match self {
            Kind::Elements { axis } => GatherElements::new(axis, indices).index_map(shape),
            Kind::Nd => GatherNd::new(0, indices).index_map(shape),
        }?)
    }

    /// The same as indices of one axis of row-major tensors, once they are known to be in range; `None` where they are no
    /// such, or for nothing.
    fn along(self, shape: &Shape, indices: &Indices, width: usize) -> Option<(Along, Arc<[i64]>)> {
        // Beside an axis without elements, sizes may multiply beyond all numbers.
        if indices.values().is_empty() || shape.elements() == 0 || width == 0 {
            return None;
        }
        let own = indices.shape();
        Some(match self {
            Kind::Elements { axis } => {
                let axis = normalize_axis("axis", axis, shape.rank()).ok()?;
                let (count, size) = (own[axis], shape[axis]);
                let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
                if own[..axis] != shape[..axis] || own[axis + 1..] != shape[axis + 1..] {
                    return None;
                }
                (Along { outer, size, count, inner, width }, Arc::clone(indices.values()))
            }
            Kind::Nd => {
                let (together, positions) = own.split_last()?;
                let (indexed, slice) = shape.split_at(*together);
                let rows = numbers_of(indices.values(), indexed, product(positions));
                let (size, count, width) = (product(indexed), rows.len(), width * product(slice));
                (Along { outer: 1, size, count, inner: 1, width }, rows)
            }
        })
    }
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().product()
}

/// For each of `count` groups of indices the number of its slice, among those of axes of these sizes.
fn numbers_of(indices: &[i64], sizes: &[usize], count: usize) -> Arc<[i64]> {
    let sizes: Vec<i64> = sizes.iter().map(|size| size.cast_signed() as i64).collect();
    let number = |group: usize| {
        let own = indices[group * sizes.len()..].iter().zip(&sizes);
        own.fold(0, |number, (index, size)| {
            number * size + if *index < 0 { index + size } else { *index }
        })
    };
    (0..count).map(number).collect()
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

    /// Writes the data with the updates where the indices lead, once it is known that the output is apart from all that is
    /// read.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
    unsafe fn run(
        self,
        kind: Kind,
        [data, indices, updates]: [*const c_void; 3],
        out: *mut c_void,
    ) -> Result<()> {
        let (shape, width) = described(&self.pair.data);
        kind.check_updates(shape, self.indices.layout().shape(), &self.updates)?;
        let others: [Memory; 2] =
            [self.indices.memory(indices.cast())?, self.updates.memory(updates.cast())?];
        self.pair.memory(data, out, &others)?;
        // SAFETY: the contract is the same.
        let indices = unsafe { read_indices(&self.indices, &others[0])? };
        let places = kind.places(shape, indices.clone())?;
        if self.pair.out.is_row_major()
            && self.updates.is_row_major()
            && let Some((along, indices)) = kind.along(shape, &indices, width.units())
        {
            // SAFETY: the same.
            return unsafe { self.put(&along, &indices, (data, out), &others[1]) };
        }
        let program = programs::updated(shape, self.updates.layout().shape(), width, &places)?;
        let inputs = vec![self.pair.data, self.updates];
        let plan = Assembled::new(&program, inputs, self.pair.out)?;
        // SAFETY: the same.
        unsafe { plan.run(&[data, updates], out, &others[..1]) }
    }

    /// Writes the data, and then the updates over it.
    ///
    /// # Safety
    /// As [`Scatter::run`], and the output is apart from all that is read.
    unsafe fn put(
        self,
        along: &Along,
        indices: &[i64],
        (data, out): (*const c_void, *mut c_void),
        updates: &Memory,
    ) -> Result<()> {
        let written = self.pair.out.memory(out.cast())?;
        let copy = Moved::of_chain(self.pair, &Chain::new())?;
        // SAFETY: the contract is the same; the copy is over when the updates are put.
        unsafe {
            copy.run(data, out, &[])?;
            Ok(along.put_along(written.write(), indices, updates.read(), trundle::threads())?)
        }
    }
}
