//! Branches, of which one is taken: what is wrong in the other does not matter.

use std::collections::HashMap;

use trundle_core::DType;
use trundle_core::program::TensorId;

use super::builder::Builder;
use super::site::Site;
use crate::problem::{Checked, Problem, wrong};
use crate::{ElementType, IntegerTypes, Integers, Node, Operator, ValueId};

/// The most problems of branches that are told apart.
const MOST: usize = 1 << 10;

/// What is wrong with values of branches.
#[derive(Default)]
pub(super) struct Branches {
    /// The number of a node, and what is wrong with it.
    problems: Vec<(usize, Problem)>,
    /// By which of these each value is not there.
    missing: HashMap<ValueId, usize>,
}

impl Branches {
    /// What a node gives; or which problem keeps it from that, its own or one of what it reads.
    pub(super) fn given_by(
        &mut self,
        (number, node): (usize, &Node),
        values: &HashMap<ValueId, TensorId>,
        builder: &mut Builder<'_>,
    ) -> Result<Vec<TensorId>, usize> {
        if !matches!(node.operator, Operator::Choose) {
            self.check(&node.inputs)?;
            let outputs = super::outputs_of(node, values, builder);
            return outputs.map_err(|problem| self.add(number, problem));
        }
        self.check(node.inputs.get(..1).unwrap_or_default())?;
        let chosen = chosen(node, values, builder).map_err(|problem| self.add(number, problem))?;
        self.check(&[Some(chosen)])?;
        let unknown = || Problem::from("no earlier node produces what it chooses".to_owned());
        let tensor = values.get(&chosen).copied().ok_or_else(unknown);
        tensor.map(|tensor| vec![tensor]).map_err(|problem| self.add(number, problem))
    }

    /// Notes that values are not there.
    pub(super) fn lack(&mut self, values: &[ValueId], problem: usize) {
        self.missing.extend(values.iter().map(|value| (*value, problem)));
    }

    /// A problem that matters: the number of its node, and what is wrong.
    pub(super) fn into_problem(mut self, problem: usize) -> (usize, Problem) {
        self.problems.swap_remove(problem)
    }

    /// The first problem of what is read.
    fn check(&self, read: &[Option<ValueId>]) -> Result<(), usize> {
        let mut problems = read.iter().flatten().filter_map(|value| self.missing.get(value));
        problems.next().map_or(Ok(()), |problem| Err(*problem))
    }

    fn add(&mut self, number: usize, problem: Problem) -> usize {
        if self.problems.len() < MOST {
            self.problems.push((number, problem));
        } else if let Some(last) = self.problems.last_mut() {
            *last = (number, problem);
        }
        self.problems.len() - 1
    }
}

/// The value that a choice takes.
fn chosen(
    node: &Node,
    values: &HashMap<ValueId, TensorId>,
    builder: &mut Builder<'_>,
) -> Checked<ValueId> {
    let [condition, then, otherwise] = node.inputs[..] else {
        return wrong!("it chooses from {} values", node.inputs.len().saturating_sub(1));
    };
    let asked = Node { inputs: vec![condition], ..node.clone() };
    let mut site = Site::new(&asked, values, builder)?;
    let (tensor, boolean) = (site.data()?, ElementType::Fixed(DType::Boolean));
    let got = site.builder.element(tensor);
    if got != boolean {
        return wrong!("cond must be of type {boolean}, got {got}");
    }
    let is_true =
        site.single("cond", &Integers::Input { input: 0, types: IntegerTypes::Mask })? != 0;
    let value = if is_true { then } else { otherwise };
    value.ok_or_else(|| Problem::from("a value that it may choose is missing".to_owned()))
}
