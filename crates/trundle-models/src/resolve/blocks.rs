//! Operators that move blocks between axes: split axes, transpose, merge axes.

use trundle_core::ops::Transpose;
use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::numbers::unsigned;
use super::pad::{both_ends, pad};
use super::site::Site;
use super::slices::{cut, equal_sizes};
use crate::problem::{Checked, wrong};
use crate::{BlockOrder, Integers, Pads};

/// `DepthToSpace`.
///
/// Source: ONNX's `DepthToSpace` and OpenVINO's DepthToSpace-1, which allows any number of axes after the
/// channels.
pub(super) fn depth_to_space(
    site: &mut Site,
    block: usize,
    order: BlockOrder,
) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let spatial = spatial_axes(&shape, block)?;
    let blocks = power(block, spatial.len())
        .filter(|blocks| shape[1].is_multiple_of(*blocks))
        .ok_or_else(|| {
            let (channels, axes) = (shape[1], spatial.len());
            format!("{channels} channels do not hold blocks of {block} along {axes} axes")
        })?;
    let depth = shape[1] / blocks;
    let sides = spatial.len();
    // The batch, the split channel axis, and the spatial axes.
    let mut split = vec![shape[0]];
    let (depth_at, block_at) = match order {
        BlockOrder::BlocksFirst => (1 + sides, 1),
        BlockOrder::DepthFirst => (1, 2),
    };
    split.extend(std::iter::repeat_n(block, sides));
    split.insert(depth_at, depth);
    split.extend(spatial);
    // Each spatial axis, followed by the block's axis that merges into it.
    let mut axes = vec![0, depth_at];
    axes.extend((0..sides).flat_map(|side| [2 + sides + side, block_at + side]));
    let mut merged = vec![shape[0], depth];
    for size in spatial {
        merged.push(times(*size, block)?);
    }
    let data = site.data()?;
    rearranged(site, data, split, &axes, merged)
}

/// `SpaceToDepth`, the inverse of [`depth_to_space`].
///
/// Source: ONNX's `SpaceToDepth`, which has blocks first, and OpenVINO's SpaceToDepth-1.
pub(super) fn space_to_depth(
    site: &mut Site,
    block: usize,
    order: BlockOrder,
) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let spatial = spatial_axes(&shape, block)?;
    if let Some(size) = spatial.iter().find(|size| !size.is_multiple_of(block)) {
        return wrong!("size {size} does not hold blocks of {block}");
    }
    let sides = spatial.len();
    let Some(blocks) = power(block, sides) else {
        return wrong!("the blocks have more elements than fit");
    };
    let mut split = vec![shape[0], shape[1]];
    split.extend(spatial.iter().flat_map(|size| [size / block, block]));
    let outside = (0..sides).map(|side| 2 + 2 * side);
    let inside = (0..sides).map(|side| 3 + 2 * side);
    let mut axes = vec![0];
    match order {
        BlockOrder::BlocksFirst => axes.extend(inside.chain([1])),
        BlockOrder::DepthFirst => axes.extend([1].into_iter().chain(inside)),
    }
    axes.extend(outside);
    let mut merged = vec![shape[0], times(shape[1], blocks)?];
    merged.extend(spatial.iter().map(|size| size / block));
    let data = site.data()?;
    rearranged(site, data, split, &axes, merged)
}

/// `ShuffleChannels`.
///
/// Source: OpenVINO's ShuffleChannels-1.
pub(super) fn shuffle_channels(site: &mut Site, axis: i64, groups: usize) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let axis = normalize_axis("axis", axis, shape.rank())?;
    let size = shape[axis];
    if groups == 0 || !size.is_multiple_of(groups) {
        return wrong!("{size} channels are not {groups} groups of equal size");
    }
    let mut split = shape.to_vec();
    split.splice(axis..=axis, [groups, size / groups]);
    let mut axes: Vec<usize> = (0..split.len()).collect();
    axes.swap(axis, axis + 1);
    let data = site.data()?;
    rearranged(site, data, split, &axes, shape.to_vec())
}

/// `BatchToSpace`.
///
/// Source: OpenVINO's BatchToSpace-2.
pub(super) fn batch_to_space(site: &mut Site, block: &Integers, crops: &Pads) -> Checked<TensorId> {
    let (data, shape) = (site.data()?, site.data_shape()?);
    let block = sides(site, &shape, block)?;
    let (begins, ends) = around(site, &shape, "crops", crops)?;
    let blocks = block.iter().try_fold(1usize, |blocks, side| blocks.checked_mul(*side));
    let Some(blocks) = blocks.filter(|blocks| shape[0].is_multiple_of(*blocks)) else {
        return wrong!("a batch of {} does not hold blocks of {block:?}", shape[0]);
    };
    let (batch, rank) = (shape[0] / blocks, shape.rank());
    // The block's axes, the remaining batch, and the spatial axes.
    let mut split = block[1..].to_vec();
    split.push(batch);
    split.extend(&shape[1..]);
    let mut axes = vec![rank - 1];
    axes.extend((1..rank).flat_map(|axis| [rank - 1 + axis, axis - 1]));
    let mut merged = vec![batch];
    for (size, side) in shape[1..].iter().zip(&block[1..]) {
        merged.push(times(*size, *side)?);
    }
    let spread = rearranged(site, data, split, &axes, merged)?;
    let shape = site.builder.shape(spread).clone();
    let mut kept = Vec::with_capacity(rank);
    for (axis, (size, (begin, end))) in shape.iter().zip(begins.into_iter().zip(ends)).enumerate() {
        match size.checked_sub(end) {
            Some(stop) if begin <= stop => kept.push(begin..stop),
            _ => return wrong!("crops {begin} and {end} are more than axis {axis} of size {size}"),
        }
    }
    site.builder.moved(spread, cut(&shape, &kept)?)
}

/// `SpaceToBatch`, the inverse of [`batch_to_space`].
///
/// Source: OpenVINO's SpaceToBatch-2.
pub(super) fn space_to_batch(site: &mut Site, block: &Integers, pads: &Pads) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let block = sides(site, &shape, block)?;
    around(site, &shape, "pads", pads)?;
    let padded = pad(site, pads, None, None)?;
    let (shape, rank) = (site.builder.shape(padded).clone(), shape.rank());
    let mut split = vec![shape[0]];
    let mut merged = vec![shape[0]];
    for (axis, (size, side)) in shape.iter().zip(&block).enumerate().skip(1) {
        if !size.is_multiple_of(*side) {
            return wrong!(
                "axis {axis} of size {size} with its pads does not hold blocks of {side}"
            );
        }
        split.extend([size / side, *side]);
        merged[0] = times(merged[0], *side)?;
        merged.push(size / side);
    }
    let mut axes: Vec<usize> = (1..rank).map(|axis| 2 * axis).collect();
    axes.push(0);
    axes.extend((1..rank).map(|axis| 2 * axis - 1));
    rearranged(site, padded, split, &axes, merged)
}

/// The block's size along each axis; it must be 1 along the batch.
fn sides(site: &mut Site, shape: &Shape, block: &Integers) -> Checked<Vec<usize>> {
    let rank = shape.rank();
    if rank < 2 {
        return wrong!("the data must have rank 2 or more, got shape {shape}");
    }
    let block = site.list("block_shape", block)?;
    equal_sizes("block_shape", block.len(), "the data's axes", rank)?;
    let side = |side: &i64| {
        let side = usize::try_from(*side).ok().filter(|side| *side > 0);
        side.ok_or_else(|| format!("block_shape {block:?} has sides below 1").into())
    };
    let sides = block.iter().map(side).collect::<Checked<Vec<usize>>>()?;
    if sides[0] != 1 {
        return wrong!("block_shape begins with {}, expected 1 for the batch", sides[0]);
    }
    Ok(sides)
}

/// The padding or cropping at each end of each axis: not negative, and 0 along the batch.
fn around(
    site: &mut Site,
    shape: &Shape,
    what: &str,
    pads: &Pads,
) -> Checked<(Vec<usize>, Vec<usize>)> {
    let (begins, ends) = both_ends(site, pads)?;
    for list in [&begins, &ends] {
        equal_sizes(what, list.len(), "the data's axes", shape.rank())?;
    }
    if (begins[0], ends[0]) != (0, 0) {
        let (begin, end) = (begins[0], ends[0]);
        return wrong!("{what} begin with {begin} and {end}, expected 0 for the batch");
    }
    Ok((unsigned(what, &begins)?, unsigned(what, &ends)?))
}

/// The spatial sizes, after batch and channels; at least one.
fn spatial_axes(shape: &Shape, block: usize) -> Checked<&[usize]> {
    if block == 0 {
        return wrong!("the block has size 0");
    }
    match shape.get(2..) {
        Some(spatial) if !spatial.is_empty() => Ok(spatial),
        _ => wrong!("the data must have rank 3 or more, got shape {shape}"),
    }
}

fn power(block: usize, sides: usize) -> Option<usize> {
    block.checked_pow(u32::try_from(sides).ok()?)
}

fn times(size: usize, factor: usize) -> Checked<usize> {
    size.checked_mul(factor).ok_or_else(|| format!("size {size} times {factor} overflows").into())
}

/// Splits axes of the data, transposes (in gather form), and merges axes.
fn rearranged(
    site: &mut Site,
    data: TensorId,
    split: Vec<usize>,
    axes: &[usize],
    merged: Vec<usize>,
) -> Checked<TensorId> {
    let split = site.builder.reshaped(data, &Shape::new(split)?)?;
    let order: Vec<i64> = axes.iter().map(|axis| axis.cast_signed() as i64).collect();
    let transposed = site.builder.moved_by(split, Transpose::new(&order))?;
    site.builder.reshaped(transposed, &Shape::new(merged)?)
}
