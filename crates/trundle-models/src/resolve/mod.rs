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
mod operators;
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

use crate::{Error, Input, Model, ResolvedModel, Result};
use builder::Builder;
pub(crate) use element::{Number, number};
pub use inputs::Given;
use site::Values;

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
