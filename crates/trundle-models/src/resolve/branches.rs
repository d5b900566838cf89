//! Conditional branches. Only the taken branch is resolved, so errors in the other do not matter.

use trundle_core::DType;
use trundle_core::program::TensorId;

use super::builder::Builder;
use super::site::{Site, Values, read};
use crate::problem::{Checked, wrong};
use crate::{Body, ElementType, IntegerTypes, Integers, Node};

pub(super) fn taken<'b>(
    node: &Node,
    bodies: &'b [Body; 2],
    values: &Values,
    builder: &mut Builder,
) -> Checked<&'b Body> {
    let [Some(condition)] = read(node, values)?[..] else {
        return wrong!("it has {} inputs, and takes one: cond", node.inputs.len());
    };
    let [then, otherwise] = bodies;
    Ok(if is_true(node, condition, builder)? { then } else { otherwise })
}

/// The value of a condition, which must be known.
pub(super) fn is_true(node: &Node, condition: TensorId, builder: &mut Builder) -> Checked<bool> {
    let boolean = ElementType::Fixed(DType::Boolean);
    let got = builder.element(condition);
    if got != boolean {
        return wrong!("cond must be of type {boolean}, got {got}");
    }
    let mut site = Site::over(node, vec![Some(condition)], builder);
    Ok(site.single("cond", &Integers::Input { input: 0, types: IntegerTypes::Mask })? != 0)
}
