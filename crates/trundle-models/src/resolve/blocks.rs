//! Blocks of channels and of space: an axis split, the axes in another order, axes merged.

use trundle_core::ops::Transpose;
use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::site::Site;
use crate::BlockOrder;
use crate::problem::{Checked, wrong};

/// `DepthToSpace`.
///
/// Source: ONNX's `DepthToSpace` and OpenVINO's DepthToSpace-1, which allows any number of axes
/// after the channels.
pub(super) fn depth_to_space(
    site: &mut Site<'_, '_>,
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
    // The batch, the channel axis split, and the spatial axes.
    let mut split = vec![shape[0]];
    let (depth_at, block_at) = match order {
        BlockOrder::BlocksFirst => (1 + sides, 1),
        BlockOrder::DepthFirst => (1, 2),
    };
    split.extend(std::iter::repeat_n(block, sides));
    split.insert(depth_at, depth);
    split.extend(spatial);
    // Each spatial axis, and its side of the block within it.
    let mut axes = vec![0, depth_at];
    axes.extend((0..sides).flat_map(|side| [2 + sides + side, block_at + side]));
    let mut merged = vec![shape[0], depth];
    for size in spatial {
        merged.push(times(*size, block)?);
    }
    rearranged(site, split, &axes, merged)
}

/// `SpaceToDepth`, which undoes [`depth_to_space`].
///
/// Source: ONNX's `SpaceToDepth`, which has blocks first, and OpenVINO's SpaceToDepth-1.
pub(super) fn space_to_depth(
    site: &mut Site<'_, '_>,
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
    rearranged(site, split, &axes, merged)
}

/// `ShuffleChannels`.
///
/// Source: OpenVINO's ShuffleChannels-1.
pub(super) fn shuffle_channels(
    site: &mut Site<'_, '_>,
    axis: i64,
    groups: usize,
) -> Checked<TensorId> {
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
    rearranged(site, split, &axes, shape.to_vec())
}

/// The sizes after the batch and the channels, of which there is one at least.
fn spatial_axes(shape: &Shape, block: usize) -> Checked<&[usize]> {
    if block == 0 {
        return wrong!("the block has size 0");
    }
    match shape.get(2..) {
        Some(spatial) if !spatial.is_empty() => Ok(spatial),
        _ => wrong!("the data must have rank 3 or more, got shape {shape}"),
    }
}

/// The elements of a block.
fn power(block: usize, sides: usize) -> Option<usize> {
    block.checked_pow(u32::try_from(sides).ok()?)
}

/// A size of the output.
fn times(size: usize, factor: usize) -> Checked<usize> {
    size.checked_mul(factor).ok_or_else(|| format!("size {size} times {factor} overflows").into())
}

/// The data in a shape with axes split, these in another order (in gather form), and merged.
fn rearranged(
    site: &mut Site<'_, '_>,
    split: Vec<usize>,
    axes: &[usize],
    merged: Vec<usize>,
) -> Checked<TensorId> {
    let data = site.data()?;
    let split = site.builder.reshaped(data, &Shape::new(split)?)?;
    let order: Vec<i64> = axes.iter().map(|axis| axis.cast_signed() as i64).collect();
    let transposed = site.builder.moved_by(split, Transpose::new(&order))?;
    site.builder.reshaped(transposed, &Shape::new(merged)?)
}
