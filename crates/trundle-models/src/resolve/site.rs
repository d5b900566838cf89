//! A node at its place: its inputs as tensors, and what it may make of them.

use std::collections::HashMap;
use std::fmt;

use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Op, Shape};

use super::builder::Builder;
use crate::{Node, ValueId};

/// Why a node does not fit what it is given; the node is named by who asked.
#[derive(Debug)]
pub(super) struct Problem(String);

/// What may fail at a node.
pub(super) type Answer<T> = Result<T, Problem>;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Problem {
        Problem(problem)
    }
}

impl From<&str> for Problem {
    fn from(problem: &str) -> Problem {
        Problem(problem.to_owned())
    }
}

impl From<trundle_core::Error> for Problem {
    fn from(error: trundle_core::Error) -> Problem {
        Problem(error.to_string())
    }
}

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
        values: &HashMap<ValueId, TensorId>,
        builder: &'a mut Builder<'m>,
    ) -> Answer<Site<'a, 'm>> {
        let tensor = |(number, value): (usize, &Option<ValueId>)| {
            let Some(value) = value else { return Ok(None) };
            let unknown = || format!("no earlier node produces what it reads as input {number}");
            values.get(value).copied().ok_or_else(unknown).map(Some)
        };
        let inputs = node.inputs.iter().enumerate().map(tensor).collect::<Result<_, String>>()?;
        Ok(Site { node, builder, inputs })
    }

    /// The input of this number.
    pub(super) fn input(&self, number: usize) -> Answer<TensorId> {
        let input = self.inputs.get(number).copied().flatten();
        input.ok_or_else(|| format!("input {number} is missing").into())
    }

    /// Input 0: what is moved.
    pub(super) fn data(&self) -> Answer<TensorId> {
        self.input(0)
    }

    /// The shape of input 0.
    pub(super) fn data_shape(&self) -> Answer<Shape> {
        Ok(self.builder.shape(self.data()?).clone())
    }

    /// All inputs; none may be left out.
    pub(super) fn all_inputs(&self) -> Answer<Vec<TensorId>> {
        (0..self.inputs.len()).map(|number| self.input(number)).collect()
    }

    /// Input 0 moved by an operator.
    pub(super) fn moved_by(&mut self, op: impl Into<Op>) -> Answer<TensorId> {
        let data = self.data()?;
        self.builder.moved_by(data, op)
    }

    /// Input 0 moved by a map from its shape.
    pub(super) fn moved(&mut self, map: IndexMap) -> Answer<TensorId> {
        let data = self.data()?;
        self.builder.moved(data, map)
    }
}
