//! A node at its place: its inputs as tensors, and what it may make of them.

use std::collections::HashMap;

use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Op, Shape};

use super::builder::Builder;
use crate::problem::{Checked, Problem};
use crate::{Node, ValueId};

/// The tensors that values are, as far as they are known.
pub(super) type Values = HashMap<ValueId, TensorId>;

/// A node, what it reads, and the program that it adds to.
pub(super) struct Site<'a, 'm> {
    /// The node.
    pub(super) node: &'a Node,
    /// The program so far.
    pub(super) builder: &'a mut Builder<'m>,
    inputs: Vec<Option<TensorId>>,
}

impl<'a, 'm> Site<'a, 'm> {
    /// The node between the tensors that earlier ones gave.
    pub(super) fn new(
        node: &'a Node,
        values: &Values,
        builder: &'a mut Builder<'m>,
    ) -> Checked<Site<'a, 'm>> {
        Ok(Site::over(node, read(node, values)?, builder))
    }

    /// The node as if it read these tensors.
    pub(super) fn over(
        node: &'a Node,
        inputs: Vec<Option<TensorId>>,
        builder: &'a mut Builder<'m>,
    ) -> Site<'a, 'm> {
        Site { node, builder, inputs }
    }

    /// The input of this number.
    pub(super) fn input(&self, number: usize) -> Checked<TensorId> {
        self.inputs.get(number).copied().flatten().ok_or_else(|| missing(number))
    }

    /// How many inputs the node lists.
    pub(super) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Input 0: what is moved.
    pub(super) fn data(&self) -> Checked<TensorId> {
        self.input(0)
    }

    /// The shape of input 0.
    pub(super) fn data_shape(&self) -> Checked<Shape> {
        Ok(self.builder.shape(self.data()?).clone())
    }

    /// All inputs; none may be left out.
    pub(super) fn all_inputs(&self) -> Checked<Vec<TensorId>> {
        all(&self.inputs, 0)
    }

    /// Input 0 moved by an operator.
    pub(super) fn moved_by(&mut self, op: impl Into<Op>) -> Checked<TensorId> {
        let data = self.data()?;
        self.builder.moved_by(data, op)
    }

    /// Input 0 moved by a map from its shape.
    pub(super) fn moved(&mut self, map: IndexMap) -> Checked<TensorId> {
        let data = self.data()?;
        self.builder.moved(data, map)
    }
}

/// The tensors that a node reads; `None` for an input that is left out.
pub(super) fn read(node: &Node, values: &Values) -> Checked<Vec<Option<TensorId>>> {
    let tensor = |(number, value): (usize, &Option<ValueId>)| {
        let Some(value) = value else { return Ok(None) };
        let unknown = || format!("no earlier node produces what it reads as input {number}");
        values.get(value).copied().ok_or_else(unknown).map(Some)
    };
    Ok(node.inputs.iter().enumerate().map(tensor).collect::<Result<_, String>>()?)
}

/// The inputs from this number on, of which none may be left out.
pub(super) fn all(inputs: &[Option<TensorId>], from: usize) -> Checked<Vec<TensorId>> {
    let inputs = inputs.iter().enumerate().skip(from);
    inputs.map(|(number, input)| input.ok_or_else(|| missing(number))).collect()
}

fn missing(number: usize) -> Problem {
    format!("input {number} is missing").into()
}
