//! Scatters: copy a tensor, then write updates at indices.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use trundle::ops::Indices;
use trundle::{Along, Chain, Layout, Plan, ScatterPlan, Shape, normalize_axis, programs};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::indexed::{Indexed, Indexing};
use super::pair::Pair;
use super::plan::{PlanMoves, described, made, trundle_plan};
use super::status::trundle_status;

/// Copies the input, then writes each element of `updates` at its index along `axis`. For axis 1 of a tensor of rank 3,
/// out[i][indices[i][j][k]][k] = updates[i][j][k]. Same as ScatterElements of ONNX and OpenVINO without a reduction.
/// numpy's put_along_axis does the same, but without the copy.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64 with the rank of the input. On axes other than `axis`, its size
///   is at most the input's size; if it is smaller, only the first positions are updated. Indices from -size to -1
///   count from the end of the axis. If several updates have the same destination, the last one in row-major order
///   wins.
/// - `updates_desc`, `updates`: the updates, with the type of the input and the sizes of the indices.
/// - `axis`: the axis of the input to which the indices refer. A negative axis counts from the end.
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
        let indexing = Indexing::Elements(axis);
        let scatter = Indexed::scatter(indexing, data_desc, indices_desc, updates_desc, out_desc)?;
        scatter.run(&[data, updates], indices, out)
    })
}

/// Plans trundle_scatter_elements() for these indices.
///
/// - `data_desc`, `updates_desc`, `axis`, `out_desc`: as in trundle_scatter_elements().
/// - `indices_desc`, `indices`: as in trundle_scatter_elements(); they are read only during this call.
/// - `plan`: receives the plan, which trundle_plan_run_inputs() runs on the data and the updates, and the caller frees.
///
/// Returns the errors of trundle_scatter_elements().
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
            let indexing = Indexing::Elements(axis);
            Indexed::scatter(indexing, data_desc, indices_desc, updates_desc, out_desc)?
                .plan(indices)
        })
    }
}

/// Copies the input, then writes the elements or slices of `updates` at indices on several axes. Each row along the
/// last axis of `indices` has an index for each of the first axes of `data`. Same as ScatterND of ONNX and
/// ScatterNDUpdate of OpenVINO, without a reduction.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64. Negative and repeated indices are treated as in
///   trundle_scatter_elements().
/// - `updates_desc`, `updates`: the updates, with the type of the input. Their sizes are the sizes of the indices
///   without the last one, then the sizes of the input's axes that have no index. A single update of one element may
///   have any number of axes of size 1.
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
        let indexing = Indexing::Nd(0);
        let scatter = Indexed::scatter(indexing, data_desc, indices_desc, updates_desc, out_desc)?;
        scatter.run(&[data, updates], indices, out)
    })
}

/// Plans trundle_scatter_nd() for these indices.
///
/// - `data_desc`, `updates_desc`, `out_desc`: as in trundle_scatter_nd().
/// - `indices_desc`, `indices`: as in trundle_scatter_nd(); they are read only during this call.
/// - `plan`: receives the plan, which trundle_plan_run_inputs() runs on the data and the updates, and the caller frees.
///
/// Returns the errors of trundle_scatter_nd().
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
            let indexing = Indexing::Nd(0);
            Indexed::scatter(indexing, data_desc, indices_desc, updates_desc, out_desc)?
                .plan(indices)
        })
    }
}

pub(crate) struct Scatter {
    copy: Plan,
    put: Put,
    /// The maximum number of threads that write updates.
    threads: usize,
}

enum Put {
    /// At indices, which are in range, along one axis of contiguous row-major tensors.
    Along { along: Along, indices: Arc<[i64]> },
    /// At positions in tensors of any layout.
    Planned(ScatterPlan),
}

impl Scatter {
    pub(crate) fn run(&self, data: &[u8], updates: &[u8], out: &mut [u8]) -> Result<()> {
        self.copy.run(data, out)?;
        Ok(match &self.put {
            Put::Along { along, indices } => along.put_along(out, indices, updates, self.threads),
            Put::Planned(plan) => plan.put(updates, out),
        }?)
    }
}

impl fmt::Display for Scatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, width) = match &self.put {
            Put::Along { along: Along { outer, count, inner, width, .. }, .. } => {
                (outer * count * inner, *width)
            }
            Put::Planned(plan) => plan.pieces(),
        };
        write!(f, "from input 0 to output 0: {}\n\n", self.copy)?;
        write!(f, "from input 1 to output 0: {count} x {width} bytes, each to its place")
    }
}

pub(crate) fn scattering(
    indexing: Indexing,
    pair: Pair,
    indices: &Indices,
    updates: Descriptor,
) -> Result<trundle_plan> {
    let (shape, width) = described(&pair.data);
    let targets = indexing.index_map(shape, indices.clone())?;
    if width.packing().is_some() {
        let program = programs::updated(shape, updates.layout().shape(), width, &targets)?;
        return trundle_plan::of_program(&program, vec![pair.data, updates], pair.out);
    }
    let along = match pair.out.is_dense() && updates.is_dense() {
        true => along(indexing, shape, indices, width.units()),
        false => None,
    };
    let put = match along {
        Some((along, indices)) => Put::Along { along, indices },
        None => {
            let own = counted(updates.layout(), targets.out_shape())?;
            Put::Planned(ScatterPlan::new(&targets, width.units(), &own, pair.out.layout())?)
        }
    };
    let scatter = Scatter { copy: pair.plan(&Chain::new())?, put, threads: trundle::threads() };
    let moves = PlanMoves::Scatter(Box::new(scatter));
    Ok(trundle_plan { inputs: vec![pair.data, updates], outputs: vec![pair.out], moves })
}

/// A single update has a layout without axes.
fn counted(updates: &Layout, shape: &Shape) -> Result<Layout> {
    Ok(match shape.rank() {
        0 => Layout::strided(shape, updates.offset_bytes(), &[])?,
        _ => updates.clone(),
    })
}

/// Expresses a scatter, whose indices are in range, as one along a single axis of contiguous row-major tensors; `None`
/// if that is not possible, or if there are no elements.
fn along(
    indexing: Indexing,
    shape: &Shape,
    indices: &Indices,
    width: usize,
) -> Option<(Along, Arc<[i64]>)> {
    // Without elements, the product of the other sizes may overflow.
    if indices.values().is_empty() || shape.elements() == 0 || width == 0 {
        return None;
    }
    let own = indices.shape();
    let product = |sizes: &[usize]| -> usize { sizes.iter().product() };
    match indexing {
        Indexing::Elements(axis) => {
            let axis = normalize_axis("axis", axis, shape.rank()).ok()?;
            if own[..axis] != shape[..axis] || own[axis + 1..] != shape[axis + 1..] {
                return None;
            }
            let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
            let along = Along { outer, size: shape[axis], count: own[axis], inner, width };
            Some((along, Arc::clone(indices.values())))
        }
        // With batch axes, the indices are relative to each batch. `Indexing::Axis` is only for gathers.
        Indexing::Axis(_) | Indexing::Nd(1..) => None,
        Indexing::Nd(0) => {
            let (together, positions) = own.split_last()?;
            let (indexed, slice) = shape.split_at(*together);
            let rows = numbers_of(indices.values(), indexed, product(positions));
            let (size, count, width) = (product(indexed), rows.len(), width * product(slice));
            Some((Along { outer: 1, size, count, inner: 1, width }, rows))
        }
    }
}

/// Converts each of `count` groups of indices, one for each of `sizes`, to one row-major number.
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
