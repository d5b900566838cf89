//! A node being resolved: its input tensors and the program.

use std::collections::HashMap;

use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Op, Shape};

use super::builder::Builder;
use crate::problem::{Checked, Problem};
use crate::{Node, ValueId};

/// The tensors of the values resolved so far.
pub(super) type Values = HashMap<ValueId, TensorId>;

pub(super) struct Site<'a, 'm> {
    pub(super) node: &'a Node,
    pub(super) builder: &'a mut Builder<'m>,
    inputs: Vec<Option<TensorId>>,
}

impl<'a, 'm> Site<'a, 'm> {
    pub(super) fn new(
        node: &'a Node,
        values: &Values,
        builder: &'a mut Builder<'m>,
    ) -> Checked<Site<'a, 'm>> {
        Ok(Site::over(node, read(node, values)?, builder))
    }

    /// A node with other inputs.
    pub(super) fn over(
        node: &'a Node,
        inputs: Vec<Option<TensorId>>,
        builder: &'a mut Builder<'m>,
    ) -> Site<'a, 'm> {
        Site { node, builder, inputs }
    }

    /// The input at an index; an error if it is omitted.
    pub(super) fn input(&self, number: usize) -> Checked<TensorId> {
        self.inputs.get(number).copied().flatten().ok_or_else(|| missing(number))
    }

    pub(super) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn data(&self) -> Checked<TensorId> {
        self.input(0)
    }

    pub(super) fn data_shape(&self) -> Checked<Shape> {
        Ok(self.builder.shape(self.data()?).clone())
    }

    /// All inputs; an error if one is omitted.
    pub(super) fn all_inputs(&self) -> Checked<Vec<TensorId>> {
        all(&self.inputs, 0)
    }

    pub(super) fn moved_by(&mut self, op: impl Into<Op>) -> Checked<TensorId> {
        let data = self.data()?;
        self.builder.moved_by(data, op)
    }

    pub(super) fn moved(&mut self, map: IndexMap) -> Checked<TensorId> {
        let data = self.data()?;
        self.builder.moved(data, map)
    }
}

/// The tensors that a node reads; `None` for an omitted input.
pub(super) fn read(node: &Node, values: &Values) -> Checked<Vec<Option<TensorId>>> {
    let tensor = |(number, value): (usize, &Option<ValueId>)| {
        let Some(value) = value else { return Ok(None) };
        let unknown = || format!("no earlier node produces what it reads as input {number}");
        values.get(value).copied().ok_or_else(unknown).map(Some)
    };
    Ok(node.inputs.iter().enumerate().map(tensor).collect::<Result<_, String>>()?)
}

/// The inputs from an index on; an error if one is omitted.
pub(super) fn all(inputs: &[Option<TensorId>], from: usize) -> Checked<Vec<TensorId>> {
    let inputs = inputs.iter().enumerate().skip(from);
    inputs.map(|(number, input)| input.ok_or_else(|| missing(number))).collect()
}

fn missing(number: usize) -> Problem {
    format!("input {number} is missing").into()
}
