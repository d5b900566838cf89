//! Elements put at indices: a tensor with those of another in some places.

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
        let kind = ScatterKind::Elements { axis };
        let scatter = Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?;
        scatter.run([data, indices, updates], out)
    })
}

/// Plans trundle_scatter_elements() at these indices, which are read now and not again. The plan is written to
/// `plan`, and is the caller's to free; trundle_plan_run_inputs() runs it on the data and the updates, in this
/// order.
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
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let kind = ScatterKind::Elements { axis };
            Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?.plan(indices)
        })
    }
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
        let kind = ScatterKind::Nd;
        let scatter = Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?;
        scatter.run([data, indices, updates], out)
    })
}

/// Plans trundle_scatter_nd() at these indices, which are read now and not again. The plan is written to
/// `plan`, and is the caller's to free; trundle_plan_run_inputs() runs it on the data and the updates, in this
/// order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_scatter_nd_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    updates_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let kind = ScatterKind::Nd;
            Scatter::read(kind, data_desc, indices_desc, updates_desc, out_desc)?.plan(indices)
        })
    }
}

/// The tensors of a scatter, which fit each other.
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
        // SAFETY: the contract is the same.
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

    /// The plan for the indices at this address.
    ///
    /// # Safety
    /// An address that is not null and aligned leads to the indices.
    unsafe fn plan(self, indices: *const c_void) -> Result<trundle_plan> {
        let memory = self.indices.memory(indices.cast())?;
        // SAFETY: the contract is the same.
        unsafe { self.planned(&memory) }
    }

    /// Writes the data with the updates where the indices lead, once it is known that the output is apart from all that is
    /// read.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
    unsafe fn run(
        self,
        [data, indices, updates]: [*const c_void; 3],
        out: *mut c_void,
    ) -> Result<()> {
        let others = [self.indices.memory(indices.cast())?, self.updates.memory(updates.cast())?];
        self.pair.memory(data, out, &others)?;
        // SAFETY: the contract is the same.
        unsafe { self.planned(&others[0])?.run(&[data, updates], &[out], &others[..1]) }
    }

    /// # Safety
    /// As [`Memory::read`].
    unsafe fn planned(self, indices: &Memory) -> Result<trundle_plan> {
        let Scatter { kind, pair, indices: desc, updates } = self;
        // SAFETY: the contract is the same.
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

/// The layout of the updates of these places: of a single place without axes, as without axes.
fn counted(updates: &Layout, places: &Shape) -> Result<Layout> {
    Ok(match places.rank() {
        0 => Layout::strided(places, updates.offset_bytes(), &[])?,
        _ => updates.clone(),
    })
}
