//! A model and what is known of its inputs, resolved into tensors that are moved and joined.
//!
//! Each node is read once, in the model's order, and leaves the tensors it gives. What an operator
//! reads as a list of integers is found by following the elements of that tensor down to where
//! they stand, so no tensor of data is ever made here.

mod arithmetic;
mod blocks;
mod branches;
mod broadcast;
mod builder;
mod diagonals;
mod dropout;
mod element;
mod gathers;
mod graph;
mod inputs;
mod iterations;
mod joins;
mod known;
mod loops;
mod moves;
mod nearest;
mod numbers;
mod pad;
mod patches;
mod range;
mod resize;
mod scans;
mod shapes;
mod site;
mod slices;
mod strided_slice;
#[cfg(test)]
mod tests;
mod widen;

use trundle_core::Shape;
use trundle_core::program::TensorId;

use crate::problem::Checked;
use crate::{Data, Error, Input, Model, Operator, ResolvedModel, Result};
use builder::Builder;
pub(crate) use element::{Number, number};
use graph::Values;
use site::Site;

/// What is known of an input of a model.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// Its shape.
    pub shape: Shape,
    /// Its elements, of the type that the model states; left out where nothing is run.
    pub data: Option<&'a Data>,
}

impl Model {
    /// The tensors of the model for `inputs`, one for each of its own, and how each is made of
    /// others.
    ///
    /// # Errors
    /// [`Error::Input`] if the inputs do not fit what the model states of them, [`Error::Node`]
    /// for the first node that does not fit what it is given, [`Error::Malformed`] for an output
    /// that nothing gives.
    pub fn resolve(&self, inputs: &[Given<'_>]) -> Result<ResolvedModel> {
        resolve(self, inputs)
    }

    /// Which inputs' elements decide how the others are moved: sizes, orders of axes, indices. Of the others nothing need
    /// be known for a plan but the shapes. It resolves the model once for each input whose elements are there.
    ///
    /// # Errors
    /// As [`Model::resolve`] with all that `inputs` hold.
    pub fn deciding_inputs(&self, inputs: &[Given<'_>]) -> Result<Vec<usize>> {
        self.resolve(inputs)?;
        let mut known = inputs.to_vec();
        let mut deciding = Vec::new();
        for number in 0..known.len() {
            let data = known[number].data.take();
            if data.is_some() && self.resolve(&known).is_err() {
                known[number].data = data;
                deciding.push(number);
            }
        }
        Ok(deciding)
    }

    /// The shapes of the inputs, if the model alone says them.
    ///
    /// # Errors
    /// [`Error::Input`] naming the first input whose shape is not fixed, or is too large.
    pub fn static_shapes(&self) -> Result<Vec<Shape>> {
        self.inputs.iter().map(Input::static_shape).collect()
    }
}

/// The nodes of a model read one after another.
fn resolve(model: &Model, inputs: &[Given<'_>]) -> Result<ResolvedModel> {
    inputs::check(model, inputs)?;
    let mut builder = Builder::new(model, inputs)?;
    let mut values = Values::new();
    for (number, input) in model.inputs.iter().enumerate() {
        if values.insert(input.value, TensorId(number)).is_some() {
            return Err(Error::Malformed(format!("input {:?} is given twice", input.name)));
        }
    }
    graph::add(&model.nodes, &mut values, &mut builder)?;
    let output = |output: &crate::Output| {
        let unknown = || Error::Malformed(format!("no node produces output {:?}", output.name));
        values.get(&output.value).copied().ok_or_else(unknown)
    };
    let outputs = model.outputs.iter().map(output).collect::<Result<Vec<_>>>()?;
    builder.resolved(&outputs)
}

/// What each operator gives at its place.
fn resolved(site: &mut Site<'_, '_>) -> Checked<Vec<TensorId>> {
    let output = match &site.node.operator {
        Operator::Split { axis, parts } => return joins::split(site, axis, parts),
        Operator::Dropout { ratio, training } => {
            return dropout::dropout(site, *ratio, training.as_ref());
        }
        Operator::Constant(constant) => site.builder.constant(constant)?,
        Operator::Identity => site.data()?,
        Operator::Choose(_) | Operator::Loop(_) | Operator::Scan { .. } => {
            unreachable!("what bodies give is no tensor of its own")
        }
        Operator::Arithmetic(what) => arithmetic::arithmetic(site, what)?,
        Operator::Widen(dtype) => widen::widen(site, *dtype)?,
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
            slices::slice(site, starts, stops, axes.as_ref(), steps.as_ref())?
        }
        Operator::StridedSlice { begin, end, strides, masks } => {
            strided_slice::strided_slice(site, begin, end, strides.as_ref(), masks)?
        }
        Operator::Concat { axis } => joins::concat(site, *axis)?,
        Operator::Tile { repeats } => moves::tile(site, repeats)?,
        Operator::TileAxis { repeats, axis } => moves::tile_axis(site, repeats, axis)?,
        Operator::Broadcast { sizes, rule } => broadcast::broadcast(site, sizes, rule)?,
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
        Operator::Range { element, single } => range::range(site, *element, *single)?,
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
            gathers::slice_scatter(site, starts, stops, axes.as_ref(), steps.as_ref())?
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
