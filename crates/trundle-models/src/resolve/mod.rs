//! Resolves a model for given inputs into a program of moves and joins.
//!
//! Each node is resolved once, in the model's order, and adds its outputs to the program. If an operator
//! reads a list of integers, each integer is traced back through the program to the constant or input that
//! holds it. No data tensor is computed.

mod arithmetic;
mod blocks;
mod builder;
mod diagonals;
mod element;
mod gathers;
mod graph;
mod inputs;
mod joins;
mod known;
mod loops;
mod moves;
mod nearest;
mod numbers;
mod operators;
mod pad;
mod patches;
mod resize;
mod shapes;
mod site;
mod slices;
#[cfg(test)]
mod tests;

use trundle_core::Shape;
use trundle_core::program::TensorId;

use crate::{Error, Input, Model, ResolvedModel, Result};
use builder::Builder;
pub(crate) use element::{Number, number};
pub use inputs::Given;

impl Model {
    /// Resolves the model for `inputs`, in the order of the model's inputs.
    ///
    /// # Errors
    /// [`Error::Input`] if an input does not fit the model; [`Error::Node`] for the first node that does
    /// not fit its inputs; [`Error::Malformed`] for an output that no node produces; [`Error::Unsupported`] on a
    /// big-endian machine.
    pub fn resolve(&self, inputs: &[Given<'_>]) -> Result<ResolvedModel> {
        resolve(self, inputs)
    }

    /// Returns the indices of the inputs whose elements decide how other tensors move: sizes, orders of
    /// axes, indices.
    ///
    /// For all others, the shape is enough to make a plan. This resolves the model once for each input with data.
    ///
    /// # Errors
    /// As [`Model::resolve`] for `inputs`.
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

    /// The shapes of the inputs, if the model states all their sizes.
    ///
    /// # Errors
    /// [`Error::Input`] names the first input whose shape is too large or has an unknown size.
    pub fn static_shapes(&self) -> Result<Vec<Shape>> {
        self.inputs.iter().map(Input::static_shape).collect()
    }
}

fn resolve(model: &Model, inputs: &[Given<'_>]) -> Result<ResolvedModel> {
    // The constants of a model are little-endian.
    if cfg!(target_endian = "big") {
        return Err(Error::Unsupported(
            "models are not supported on big-endian machines".to_owned(),
        ));
    }
    inputs::check(model, inputs)?;
    let mut builder = Builder::new(model, inputs)?;
    for (number, input) in model.inputs.iter().enumerate() {
        if builder.values.insert(input.value, TensorId(number)).is_some() {
            return Err(Error::Malformed(format!("input {:?} is given twice", input.name)));
        }
    }
    graph::add(&model.nodes, &mut builder)?;
    let output = |output: &crate::Output| {
        let unknown = || Error::Malformed(format!("no node produces output {:?}", output.name));
        builder.values.get(&output.value).copied().ok_or_else(unknown)
    };
    let outputs = model.outputs.iter().map(output).collect::<Result<Vec<_>>>()?;
    builder.resolved(&outputs)
}
