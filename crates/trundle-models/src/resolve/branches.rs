//! Branches, of which one is taken: what is wrong in the other does not matter.

use trundle_core::DType;
use trundle_core::program::TensorId;

use super::builder::Builder;
use super::graph::{Values, run};
use super::site::{Site, read};
use crate::problem::{Checked, wrong};
use crate::{Body, ElementType, IntegerTypes, Integers, Node};

/// What the first body gives where the condition is true, else what the second one does.
pub(super) fn choose(
    node: &Node,
    bodies: &[Body; 2],
    values: &mut Values,
    builder: &mut Builder<'_>,
) -> Checked<Vec<TensorId>> {
    let [Some(condition)] = read(node, values)?[..] else {
        return wrong!("it has {} inputs, and takes one: cond", node.inputs.len());
    };
    let [then, otherwise] = bodies;
    let taken = if is_true(node, condition, builder)? { then } else { otherwise };
    run(taken, &[], values, builder)
}

/// What a condition says, which must be known.
pub(super) fn is_true(
    node: &Node,
    condition: TensorId,
    builder: &mut Builder<'_>,
) -> Checked<bool> {
    let boolean = ElementType::Fixed(DType::Boolean);
    let got = builder.element(condition);
    if got != boolean {
        return wrong!("cond must be of type {boolean}, got {got}");
    }
    let mut site = Site::over(node, vec![Some(condition)], builder);
    Ok(site.single("cond", &Integers::Input { input: 0, types: IntegerTypes::Mask })? != 0)
}
