//! Gathers and scatters.

use trundle_core::ops::{GatherElements, GatherNd, Indices, Slice, Take};
use trundle_core::program::{Program, TensorId};
use trundle_core::{IndexMap, Shape, normalize_axis};

use super::numbers::MOST_ENTRIES;
use super::site::Site;
use crate::problem::{Checked, wrong};
use crate::{ElementType, IndexRule, Integers};

/// Gather.
///
/// Source: ONNX's Gather, OpenVINO's Gather-1, -7 and -8.
pub(super) fn gather(
    site: &mut Site,
    axis: &Integers,
    batch_axes: i64,
    rule: IndexRule,
) -> Checked<TensorId> {
    let axis = site.single("axis", axis)?;
    let mut indices = site.indices(1)?;
    if rule == IndexRule::Within {
        not_negative(&indices)?;
    }
    let rank = indices.shape().rank();
    let batch = if batch_axes < 0 { batch_axes + rank.cast_signed() as i64 } else { batch_axes };
    let Ok(batch) = usize::try_from(batch) else {
        return wrong!("batch_dims {batch_axes} is out of range for indices of rank {rank}");
    };
    let mut data = site.data()?;
    if rule == IndexRule::ZeroOutside {
        (data, indices) = with_zeros(site, axis, indices)?;
    }
    site.builder.moved_by(data, Take::new(axis, indices).with_batch_axes(batch))
}

/// The data and indices of a gather. If indices lie outside the axis, zeros are appended to the data, and these indices
/// point to them.
fn with_zeros(site: &mut Site, axis: i64, indices: Indices) -> Checked<(TensorId, Indices)> {
    let (data, shape) = (site.data()?, site.data_shape()?);
    let front = normalize_axis("axis", axis, shape.rank())?;
    let size = shape[front].cast_signed() as i64;
    let is_within = |index: i64| (-size..size).contains(&index);
    if indices.values().iter().all(|index| is_within(*index)) {
        return Ok((data, indices));
    }
    let element = site.builder.element(data);
    if element == ElementType::String {
        return wrong!("an index is outside an axis of size {size}, and strings have no zero");
    }
    let zero = site.builder.zero(element)?;
    let mut widths = vec![[0; 2]; shape.rank()];
    widths[front] = [0, 1];
    let joined = site.builder.padded(data, &widths, zero)?;
    let from_front = |index: &i64| match *index {
        index if !is_within(index) => size,
        index if index < 0 => index + size,
        index => index,
    };
    let values: Vec<i64> = indices.values().iter().map(from_front).collect();
    Ok((joined, Indices::new(indices.shape().clone(), values)?))
}

fn not_negative(indices: &Indices) -> Checked<()> {
    match indices.values().iter().position(|index| *index < 0) {
        Some(at) => {
            let (index, position) = (indices.values()[at], indices.shape().unravel(at));
            wrong!(
                "index {index} at {position:?} is negative: this opset does not allow negative indices"
            )
        }
        None => Ok(()),
    }
}

/// GatherElements. Along the other axes, indices may be shorter than the data, as ONNX allows.
///
/// Source: ONNX's GatherElements, OpenVINO's GatherElements-6.
pub(super) fn gather_elements(site: &mut Site, axis: i64) -> Checked<TensorId> {
    let gathered = GatherElements::new(axis, site.indices(1)?);
    let map = gathered.index_map(&site.data_shape()?)?;
    site.moved(map)
}

/// GatherND.
///
/// Source: ONNX's GatherND, OpenVINO's GatherND-5 and -8.
pub(super) fn gather_nd(
    site: &mut Site,
    batch_axes: usize,
    merges_batch: bool,
) -> Checked<TensorId> {
    let gathered = {
        let indices = site.indices(1)?;
        site.moved_by(GatherNd::new(batch_axes, indices))?
    };
    if !merges_batch || batch_axes < 2 {
        return Ok(gathered);
    }
    let shape = site.builder.shape(gathered).clone();
    let (batch, rest) = shape.split_at(batch_axes);
    let merged = batch.iter().fold(1usize, |merged, size| merged.saturating_mul(*size));
    let sizes = [&[merged], rest].concat();
    site.builder.reshaped(gathered, &Shape::new(sizes)?)
}

/// ScatterElements without a reduction.
///
/// Source: ONNX's Scatter and ScatterElements, OpenVINO's ScatterElementsUpdate-3 and -12.
pub(super) fn scatter_elements(
    site: &mut Site,
    axis: &Integers,
    counts_back: bool,
) -> Checked<TensorId> {
    let axis = site.single("axis", axis)?;
    let indices = site.indices(1)?;
    if !counts_back {
        not_negative(&indices)?;
    }
    let targets = GatherElements::new(axis, indices).index_map(&site.data_shape()?)?;
    updated(site, &targets, 2)
}

/// ScatterND without a reduction.
///
/// Source: ONNX's ScatterND, OpenVINO's ScatterNDUpdate-3 and -15.
pub(super) fn scatter_nd(site: &mut Site) -> Checked<TensorId> {
    let indices = site.indices(1)?;
    let targets = GatherNd::new(0, indices).index_map(&site.data_shape()?)?;
    updated(site, &targets, 2)
}

/// ScatterUpdate. The updates have the shape of the data, with the axes of the indices in the place of
/// `axis`.
///
/// Source: OpenVINO's ScatterUpdate-3.
pub(super) fn scatter_update(site: &mut Site, axis: &Integers) -> Checked<TensorId> {
    let axis = site.single("axis", axis)?;
    let indices = site.indices(1)?;
    not_negative(&indices)?;
    let targets = Take::new(axis, indices).index_map(&site.data_shape()?)?;
    updated(site, &targets, 2)
}

/// SliceScatter.
///
/// Source: OpenVINO's SliceScatter-15.
pub(super) fn slice_scatter(site: &mut Site, slice: &Slice) -> Checked<TensorId> {
    let targets = slice.index_map(&site.data_shape()?)?;
    updated(site, &targets, 1)
}

/// TensorScatter.
///
/// Source: ONNX's TensorScatter, opset 24.
pub(super) fn tensor_scatter(site: &mut Site, axis: i64, is_circular: bool) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let axis = normalize_axis("axis", axis, shape.rank())?;
    if axis == 0 {
        return wrong!("axis 0 holds the batches, so it cannot be the written axis");
    }
    let update = site.builder.shape(site.input(1)?).clone();
    let (size, count) = (shape[axis], update.get(axis).copied().unwrap_or(0));
    let rows = shape[0].saturating_mul(count.max(1));
    if rows > MOST_ENTRIES {
        return wrong!("{rows} rows are written, over the limit of {MOST_ENTRIES}");
    }
    let starts = match site.input(2) {
        Ok(_) => {
            let starts = site.indices(2)?;
            if starts.shape().sizes() != [shape[0]] {
                let (batches, got) = (shape[0], starts.shape());
                return wrong!("write_indices must have shape [{batches}], got {got}");
            }
            starts.values().to_vec()
        }
        Err(_) => vec![0; shape[0]],
    };
    let mut indices = Vec::with_capacity(starts.len().saturating_mul(count));
    for start in starts {
        let most = if is_circular { size } else { (size + 1).saturating_sub(count) };
        let first = usize::try_from(start).ok().filter(|first| *first < most);
        let Some(first) = first else {
            let mode = if is_circular { "circular" } else { "linear" };
            return wrong!(
                "write index {start} is out of range: {count} rows are written to {size}, {mode}"
            );
        };
        if count > size {
            return wrong!("{count} rows are written along an axis of {size}");
        }
        indices.extend((first..first + count).map(|at| (at % size.max(1)).cast_signed() as i64));
    }
    // One index for each batch entry and row, shared by all positions along the other axes.
    let indices = Indices::new(Shape::new([shape[0], count])?, indices)?;
    let taken = Take::new(axis.cast_signed() as i64, indices).with_batch_axes(1);
    let targets = taken.index_map(&shape)?;
    updated(site, &targets, 1)
}

/// The largest number of indices of all scatters together. A file of some bytes can state data of any size.
const MOST_INDICES: usize = 1 << 28;

fn updated(site: &mut Site, targets: &IndexMap, updates: usize) -> Checked<TensorId> {
    let (data, updates) = (site.data()?, site.input(updates)?);
    let (element, other) = (site.builder.element(data), site.builder.element(updates));
    if element != other {
        return wrong!("updates must be of type {element}, got {other}");
    }
    let indices = &mut site.builder.indices;
    *indices = indices.saturating_add(Program::indices_of_update(targets));
    if *indices > MOST_INDICES {
        return wrong!(
            "the scatters up to here hold {indices} indices, over the limit of {MOST_INDICES}"
        );
    }
    site.builder.updated(data, updates, targets)
}
