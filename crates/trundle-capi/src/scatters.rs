//! Scatters: a copy of a tensor, with updates at indices.

use std::ffi::c_void;

use trundle::{Layout, ScatterPlan, Shape, programs};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::indices::{check_indices, read_indices};
use super::memory::Memory;
use super::pair::{Pair, check_shape, check_types};
use super::plan::{made, trundle_plan};
use super::scatter_kind::ScatterKind;
use super::scattered::{Put, Scattered};
use super::status::trundle_status;

/// Copies the input, then writes each element of `updates` at its index along `axis`: along the middle one of three
/// axes, out[i][indices[i][j][k]][k] = updates[i][j][k]. Same as ScatterElements of ONNX and OpenVINO without a
/// reduction; like numpy's put_along_axis, but into another tensor.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64 with the rank of the input. On axes other than `axis` its
///   size is at most the input's; a smaller size writes only to the first positions. Indices from -size to -1 count
///   from the end of the axis. If indices repeat, the last one in row-major order wins.
/// - `updates_desc`, `updates`: the updates, with the type of the input and the sizes of the indices.
/// - `axis`: the axis to index. A negative axis counts from the end.
/// - `out_desc`, `out`: the output, with the type and the sizes of the input.
///
/// Returns TRUNDLE_ERROR_INDEX if an index is out of range, TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or
/// TRUNDLE_ERROR_DTYPE.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let kind = ScatterKind::Elements { axis };
        let scatter = Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?;
        scatter.run([data, indices, updates], out)
    })
}

/// Plans trundle_scatter_elements() at the given indices and writes the plan to `plan`. The indices are read only
/// during this call. The caller runs the plan with trundle_plan_run_inputs(), on the data and the updates in this
/// order, and frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_scatter_elements_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    updates_desc: *const trundle_tensor_desc,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let kind = ScatterKind::Elements { axis };
            Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?.plan(indices)
        })
    }
}

/// Copies the input, then writes the elements or slices of `updates` at indices of several axes. Each row of the
/// last axis of `indices` is one position, with one index for each of the first axes of `data`. Same as ScatterND
/// of ONNX and OpenVINO without a reduction.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64. Indices are as in trundle_scatter_elements().
/// - `updates_desc`, `updates`: the updates, with the type of the input. Their sizes are those of the indices
///   without the last axis, followed by the sizes of the other axes of the input. A single update may have any
///   number of axes of size 1.
/// - `out_desc`, `out`: the output, with the type and the sizes of the input.
///
/// Returns the errors of trundle_scatter_elements(), or TRUNDLE_ERROR_NUMBER if the input has too few axes for the
/// indices.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let kind = ScatterKind::Nd;
        let scatter = Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?;
        scatter.run([data, indices, updates], out)
    })
}

/// Plans trundle_scatter_nd() at the given indices and writes the plan to `plan`. The indices are read only during this
/// call. The caller runs the plan with trundle_plan_run_inputs(), on the data and the updates in this order, and
/// frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_scatter_nd_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    updates_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let kind = ScatterKind::Nd;
            Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?.plan(indices)
        })
    }
}

/// The tensors of a scatter, with matching types and shapes.
struct Scatter {
    kind: ScatterKind,
    pair: Pair,
    indices: Descriptor,
    updates: Descriptor,
}

impl Scatter {
    /// # Safety
    /// As [`Descriptor::read`], for each.
    unsafe fn read(
        kind: ScatterKind,
        data: *const trundle_tensor_desc,
        indices: *const trundle_tensor_desc,
        updates: *const trundle_tensor_desc,
        out: *const trundle_tensor_desc,
    ) -> Result<Scatter> {
        // SAFETY: the caller guarantees valid descriptions.
        unsafe {
            let pair = Pair::read(data, out)?;
            let indices = Descriptor::read("indices", indices)?;
            check_indices(&indices)?;
            let updates = Descriptor::read("updates", updates)?;
            check_types("updates", &pair.data, &updates)?;
            let shape = pair.data.layout().shape();
            check_shape("out", shape, &pair.out)?;
            kind.check_updates(shape, indices.layout().shape(), &updates)?;
            Ok(Scatter { kind, pair, indices, updates })
        }
    }

    /// Plans the scatter for the indices at this address.
    ///
    /// # Safety
    /// An address that is aligned and not null points to the indices.
    unsafe fn plan(self, indices: *const c_void) -> Result<trundle_plan> {
        let memory = self.indices.memory(indices.cast())?;
        // SAFETY: the caller guarantees that the indices are at this address.
        unsafe { self.planned(&memory) }
    }

    /// Checks that the output overlaps no input, and writes the input and the updates.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the output.
    unsafe fn run(
        self,
        [data, indices, updates]: [*const c_void; 3],
        out: *mut c_void,
    ) -> Result<()> {
        let others = [self.indices.memory(indices.cast())?, self.updates.memory(updates.cast())?];
        self.pair.memory(data, out, &others)?;
        // SAFETY: the caller owns the memory of all tensors.
        unsafe { self.planned(&others[0])?.run(&[data, updates], &[out], &others[..1]) }
    }

    /// # Safety
    /// As [`Memory::read`].
    unsafe fn planned(self, indices: &Memory) -> Result<trundle_plan> {
        let Scatter { kind, pair, indices: desc, updates } = self;
        // SAFETY: the caller guarantees what [`Memory::read`] requires.
        let indices = unsafe { read_indices(&desc, indices)? };
        let (shape, width) = described(&pair.data);
        let places = kind.places(shape, indices.clone())?;
        if width.packing().is_some() {
            let program = programs::updated(shape, updates.layout().shape(), width, &places)?;
            return Ok(Assembled::new(&program, vec![pair.data, updates], pair.out)?.into());
        }
        let along = match pair.out.is_row_major() && updates.is_row_major() {
            true => kind.along(shape, &indices, width.units()),
            false => None,
        };
        let put = match along {
            Some((along, indices)) => Put::Along { along, indices },
            None => {
                let own = counted(updates.layout(), places.out_shape())?;
                Put::Places(ScatterPlan::new(&places, width.units(), &own, pair.out.layout())?)
            }
        };
        Ok(Scattered::new(pair, updates, put)?.into())
    }
}

/// Returns the layout of the updates; of a single update, the layout without axes.
fn counted(updates: &Layout, places: &Shape) -> Result<Layout> {
    Ok(match places.rank() {
        0 => Layout::strided(places, updates.offset_bytes(), &[])?,
        _ => updates.clone(),
    })
}
