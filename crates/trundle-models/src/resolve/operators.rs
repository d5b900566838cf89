//! Dispatches each operator to the function that resolves it.

use trundle_core::program::TensorId;

use super::site::Site;
use super::{
    arithmetic, blocks, diagonals, element, gathers, joins, known, moves, pad, patches, resize,
    shapes, slices,
};
use crate::Operator;
use crate::problem::Checked;

pub(super) fn resolved(site: &mut Site) -> Checked<Vec<TensorId>> {
    let output = match &site.node.operator {
        Operator::Split { axis, parts } => return joins::split(site, axis, parts),
        Operator::Dropout { ratio, training } => {
            return known::dropout(site, *ratio, training.as_ref());
        }
        Operator::Constant(constant) => site.builder.constant(constant)?,
        Operator::Identity => site.data()?,
        Operator::Choose(_) | Operator::Loop(_) | Operator::Scan { .. } => {
            unreachable!("outputs of bodies are not tensors of their own")
        }
        Operator::Arithmetic(what) => arithmetic::arithmetic(site, what)?,
        Operator::Widen(dtype) => element::widen(site, *dtype)?,
        Operator::Roll { shift, axes } => moves::roll(site, shift, axes)?,
        Operator::Transpose { order } => moves::transpose(site, order)?,
        Operator::ReverseSequence { lengths, batch_axis, sequence_axis } => {
            moves::reverse_sequence(site, lengths, *batch_axis, *sequence_axis)?
        }
        Operator::Flip { axes } => moves::flip(site, axes)?,
        Operator::FlipMask { mask } => moves::flip_mask(site, mask)?,
        Operator::Reshape { sizes, zero } => shapes::reshape(site, sizes, *zero)?,
        Operator::Squeeze { axes, keeps_others } => {
            shapes::squeeze(site, axes.as_ref(), *keeps_others)?
        }
        Operator::Unsqueeze { axes } => shapes::unsqueeze(site, axes)?,
        Operator::Flatten { axis } => shapes::flatten(site, *axis)?,
        Operator::Slice { starts, stops, axes, steps } => {
            let slice = slices::slice(site, starts, stops, axes.as_ref(), steps.as_ref())?;
            site.moved_by(slice)?
        }
        Operator::StridedSlice { begin, end, strides, masks } => {
            slices::strided_slice(site, begin, end, strides.as_ref(), masks)?
        }
        Operator::Concat { axis } => joins::concat(site, *axis)?,
        Operator::Tile { repeats } => moves::tile(site, repeats)?,
        Operator::TileAxis { repeats, axis } => moves::tile_axis(site, repeats, axis)?,
        Operator::Broadcast { sizes, rule } => moves::broadcast(site, sizes, rule)?,
        Operator::Pad { pads, axes, value } => pad::pad(site, pads, axes.as_ref(), *value)?,
        Operator::PadElements { pads, axes, mode, once } => {
            pad::pad_elements(site, pads, axes.as_ref(), *mode, *once)?
        }
        Operator::DepthToSpace { block, order } => blocks::depth_to_space(site, *block, *order)?,
        Operator::SpaceToDepth { block, order } => blocks::space_to_depth(site, *block, *order)?,
        Operator::BatchToSpace { block, crops } => blocks::batch_to_space(site, block, crops)?,
        Operator::SpaceToBatch { block, pads } => blocks::space_to_batch(site, block, pads)?,
        Operator::CenterCropPad { sizes, axes } => pad::center(site, sizes, axes.as_ref())?,
        Operator::Resize { .. } => resize::resize(site)?,
        Operator::Shape { start, end, element } => known::shape(site, *start, *end, *element)?,
        Operator::Size => known::size(site)?,
        Operator::Filled { sizes, value } => known::filled(site, sizes, value)?,
        Operator::Eye { sizes, diagonal, element } => {
            diagonals::eye(site, sizes, diagonal, *element)?
        }
        Operator::Trilu { diagonal, is_upper } => {
            diagonals::triangle(site, diagonal.as_ref(), *is_upper)?
        }
        Operator::Range { element, single } => known::range(site, *element, *single)?,
        Operator::Gather { axis, batch_axes, rule } => {
            gathers::gather(site, axis, *batch_axes, *rule)?
        }
        Operator::GatherElements { axis } => gathers::gather_elements(site, *axis)?,
        Operator::GatherNd { batch_axes, merges_batch } => {
            gathers::gather_nd(site, *batch_axes, *merges_batch)?
        }
        Operator::ScatterElements { axis, counts_back } => {
            gathers::scatter_elements(site, axis, *counts_back)?
        }
        Operator::ScatterNd => gathers::scatter_nd(site)?,
        Operator::ScatterUpdate { axis } => gathers::scatter_update(site, axis)?,
        Operator::SliceScatter { starts, stops, axes, steps } => {
            let slice = slices::slice(site, starts, stops, axes.as_ref(), steps.as_ref())?;
            gathers::slice_scatter(site, &slice)?
        }
        Operator::TensorScatter { axis, is_circular } => {
            gathers::tensor_scatter(site, *axis, *is_circular)?
        }
        Operator::Patches { sizes, strides, rates, padding } => {
            patches::patches(site, *sizes, *strides, *rates, *padding)?
        }
        Operator::ShuffleChannels { axis, groups } => {
            blocks::shuffle_channels(site, *axis, *groups)?
        }
    };
    Ok(vec![output])
}
