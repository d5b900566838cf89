//! Resolves the nodes of a graph in order; the nodes of a body, once for each run.

use trundle_core::program::TensorId;

use super::builder::Builder;
use super::operators::resolved;
use super::site::{Site, Values};
use super::{branches, loops, scans};
use crate::problem::{Checked, wrong};
use crate::{Body, BodyValue, Node, Operator, Result};

/// The longest node name, in bytes, that its tensors get; a split may have very many outputs.
const MOST_NAME: usize = 200;

/// Adds the outputs of the nodes, in order, to the program.
///
/// # Errors
/// The problem with the first node that is invalid or does not fit its inputs.
pub(super) fn add(nodes: &[Node], values: &mut Values, builder: &mut Builder) -> Result<()> {
    for (number, node) in nodes.iter().enumerate() {
        add_node(node, values, builder)
            .map_err(|problem| builder.refused(node, number, problem))?;
    }
    Ok(())
}

fn add_node(node: &Node, values: &mut Values, builder: &mut Builder) -> Checked<()> {
    let made_before = builder.len();
    let outputs = match &node.operator {
        Operator::Choose(bodies) => {
            run(branches::taken(node, bodies, values, builder)?, &[], values, builder)?
        }
        Operator::Loop(body) => loops::repeat(node, body, run, values, builder)?,
        Operator::Scan { body, cuts, stacks } => {
            scans::scan(node, body, (cuts, stacks), run, values, builder)?
        }
        _ => resolved(&mut Site::new(node, values, builder)?)?,
    };
    if outputs.len() != node.outputs.len() {
        let (gives, listed) = (outputs.len(), node.outputs.len());
        return wrong!("it produces {gives} tensors, but lists {listed} outputs");
    }
    for output in outputs.iter().filter(|output| output.0 >= made_before) {
        // Outputs of a body already have the name of the node inside it.
        if builder.called(*output).is_empty() {
            builder.name(*output, &node.name[..node.name.floor_char_boundary(MOST_NAME)]);
        }
    }
    for (output, (value, tensor)) in node.outputs.iter().zip(outputs).enumerate() {
        if values.insert(*value, tensor).is_some() {
            return wrong!("its output {output} is produced twice");
        }
    }
    Ok(())
}

pub(super) fn run(
    body: &Body,
    given: &[TensorId],
    values: &mut Values,
    builder: &mut Builder,
) -> Checked<Vec<TensorId>> {
    builder.count_run(body)?;
    if body.inputs.len() != given.len() {
        return wrong!("its body takes {} inputs, and is given {}", body.inputs.len(), given.len());
    }
    for (number, (input, tensor)) in body.inputs.iter().zip(given).enumerate() {
        let got = builder.element(*tensor);
        if let Some(stated) = input.element.filter(|stated| *stated != got) {
            return wrong!("input {number} of its body must be of type {stated}, got {got}");
        }
        if values.insert(input.value, *tensor).is_some() {
            return wrong!("input {number} of its body is produced twice");
        }
    }
    add(&body.nodes, values, builder)?;
    let output = |(number, output): (usize, &BodyValue)| {
        let unknown = || format!("no node produces output {number} of its body").into();
        values.get(&output.value).copied().ok_or_else(unknown)
    };
    let outputs = body.outputs.iter().enumerate().map(output).collect::<Checked<_>>()?;
    // The next run assigns these values anew.
    let inputs = body.inputs.iter().map(|input| &input.value);
    inputs
        .chain(body.nodes.iter().flat_map(|node| &node.outputs))
        .for_each(|value| _ = values.remove(value));
    Ok(outputs)
}
