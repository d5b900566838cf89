//! Moves of blocks between axes: split, transpose and merge axes.

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
    let (data, shape) = (site.data()?, site.data_shape()?);
    let axes = spatial_axes(&shape, block)?.len();
    if power(block, axes).is_none_or(|blocks| !shape[1].is_multiple_of(blocks)) {
        let channels = shape[1];
        return wrong!("{channels} channels do not hold blocks of {block} along {axes} axes");
    }
    spread(site, data, 1, &vec![block; axes], order)
}

/// `SpaceToDepth`, the inverse of [`depth_to_space`].
///
/// Source: ONNX's `SpaceToDepth`, which is `BlocksFirst`, and OpenVINO's SpaceToDepth-1.
pub(super) fn space_to_depth(
    site: &mut Site,
    block: usize,
    order: BlockOrder,
) -> Checked<TensorId> {
    let (data, shape) = (site.data()?, site.data_shape()?);
    let spatial = spatial_axes(&shape, block)?;
    if let Some(size) = spatial.iter().find(|size| !size.is_multiple_of(block)) {
        return wrong!("size {size} does not hold blocks of {block}");
    }
    if power(block, spatial.len()).is_none() {
        return wrong!("the blocks have more elements than fit");
    }
    collected(site, data, 1, &vec![block; spatial.len()], order)
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
    if blocks.is_none_or(|blocks| !shape[0].is_multiple_of(blocks)) {
        return wrong!("a batch of {} does not hold blocks of {block:?}", shape[0]);
    }
    let spread = spread(site, data, 0, &block[1..], BlockOrder::BlocksFirst)?;
    let shape = site.builder.shape(spread).clone();
    let mut kept = Vec::with_capacity(shape.rank());
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
    let shape = site.builder.shape(padded);
    for (axis, (size, side)) in shape.iter().zip(&block).enumerate().skip(1) {
        if !size.is_multiple_of(*side) {
            return wrong!(
                "axis {axis} of size {size} with its pads does not hold blocks of {side}"
            );
        }
    }
    collected(site, padded, 0, &block[1..], BlockOrder::BlocksFirst)
}

/// The size along each axis, 1 along the batch.
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

/// The padding or cropping before and after each axis: never negative, and 0 along the batch.
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

/// The sizes after batch and channels, at least one.
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

/// Moves blocks from an axis to the axes after it. `sides` has the size of a block along these, and the axis is a
/// multiple of their product.
fn spread(
    site: &mut Site,
    data: TensorId,
    axis: usize,
    sides: &[usize],
    order: BlockOrder,
) -> Checked<TensorId> {
    let shape = site.builder.shape(data).to_vec();
    let (before, after) = (&shape[..axis], &shape[axis + 1..]);
    let depth = shape[axis] / sides.iter().product::<usize>();
    let (depth_at, block_at) = match order {
        BlockOrder::BlocksFirst => (axis + sides.len(), axis),
        BlockOrder::DepthFirst => (axis, axis + 1),
    };
    let mut split = [before, sides, after].concat();
    split.insert(depth_at, depth);
    // The block's axis that merges into an axis after `axis` follows that axis.
    let after_at = axis + 1 + sides.len();
    let mut axes: Vec<usize> = (0..axis).chain([depth_at]).collect();
    axes.extend((0..sides.len()).flat_map(|side| [after_at + side, block_at + side]));
    let mut merged = [before, &[depth]].concat();
    for (size, side) in after.iter().zip(sides) {
        merged.push(times(*size, *side)?);
    }
    rearranged(site, data, split, &axes, merged)
}

/// The inverse of [`spread`]: each axis after `axis` is a multiple of the block's size along it.
fn collected(
    site: &mut Site,
    data: TensorId,
    axis: usize,
    sides: &[usize],
    order: BlockOrder,
) -> Checked<TensorId> {
    let shape = site.builder.shape(data).to_vec();
    let after = || shape[axis + 1..].iter().zip(sides);
    let mut split = shape[..=axis].to_vec();
    split.extend(after().flat_map(|(size, side)| [size / side, *side]));
    let inside = (0..sides.len()).map(|side| axis + 2 + 2 * side);
    let mut axes: Vec<usize> = (0..axis).collect();
    match order {
        BlockOrder::BlocksFirst => axes.extend(inside.chain([axis])),
        BlockOrder::DepthFirst => axes.extend([axis].into_iter().chain(inside)),
    }
    axes.extend((0..sides.len()).map(|side| axis + 1 + 2 * side));
    let mut merged = shape[..axis].to_vec();
    merged.push(sides.iter().try_fold(shape[axis], |size, side| times(size, *side))?);
    merged.extend(after().map(|(size, side)| size / side));
    rearranged(site, data, split, &axes, merged)
}

/// Splits axes, transposes (output axis `i` is axis `axes[i]`), and merges axes.
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
