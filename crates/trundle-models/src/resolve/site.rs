//! A node that is being resolved.

use trundle_core::program::TensorId;
use trundle_core::{DType, IndexMap, Op, Shape};

use super::builder::Builder;
use crate::problem::{Checked, wrong};
use crate::{ElementType, IntegerTypes, Integers, Node, ValueId};

pub(super) struct Site<'a, 'm> {
    pub(super) node: &'a Node,
    pub(super) builder: &'a mut Builder<'m>,
    /// `None` for an omitted input.
    pub(super) inputs: Vec<Option<TensorId>>,
}

impl<'a, 'm> Site<'a, 'm> {
    pub(super) fn new(node: &'a Node, builder: &'a mut Builder<'m>) -> Checked<Site<'a, 'm>> {
        let tensor = |(number, value): (usize, &Option<ValueId>)| {
            let Some(value) = value else { return Ok(None) };
            let unknown = || format!("no earlier node produces what it reads as input {number}");
            builder.values.get(value).copied().ok_or_else(unknown).map(Some)
        };
        let inputs = node.inputs.iter().enumerate().map(tensor).collect::<Result<_, String>>()?;
        Ok(Site { node, builder, inputs })
    }

    /// The input must not be omitted.
    pub(super) fn input(&self, number: usize) -> Checked<TensorId> {
        self.inputs
            .get(number)
            .copied()
            .flatten()
            .ok_or_else(|| format!("input {number} is missing").into())
    }

    pub(super) fn data(&self) -> Checked<TensorId> {
        self.input(0)
    }

    pub(super) fn data_shape(&self) -> Checked<Shape> {
        Ok(self.builder.shape(self.data()?).clone())
    }

    /// None may be omitted.
    pub(super) fn inputs_from(&self, first: usize) -> Checked<Vec<TensorId>> {
        (first..self.inputs.len()).map(|number| self.input(number)).collect()
    }

    /// The condition must be known.
    pub(super) fn is_true(&mut self, condition: TensorId) -> Checked<bool> {
        let boolean = ElementType::Fixed(DType::Boolean);
        let got = self.builder.element(condition);
        if got != boolean {
            return wrong!("cond must be of type {boolean}, got {got}");
        }
        let inputs = vec![Some(condition)];
        let mut site = Site { node: self.node, builder: self.builder, inputs };
        Ok(site.single("cond", &Integers::Input { input: 0, types: IntegerTypes::Mask })? != 0)
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
