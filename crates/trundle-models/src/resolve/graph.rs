//! Resolves nodes in order; the nodes of a body once for each run.

use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::builder::Builder;
use super::loops;
use super::operators::resolved;
use super::site::Site;
use crate::problem::{Checked, Problem, wrong};
use crate::{Body, BodyValue, Constant, Data, ElementType, Node, Operator, Result, ScanAxis};

/// The bytes of a node's name that its tensors get. A split may have very many outputs.
const MOST_NAME: usize = 200;

/// Adds the outputs of the nodes in order.
///
/// # Errors
/// The problem with the first node that is invalid or does not fit its inputs.
pub(super) fn add(nodes: &[Node], builder: &mut Builder) -> Result<()> {
    for (number, node) in nodes.iter().enumerate() {
        add_node(node, builder).map_err(|problem| builder.refused(node, number, problem))?;
    }
    Ok(())
}

fn add_node(node: &Node, builder: &mut Builder) -> Checked<()> {
    let made_before = builder.program.tensors().len();
    let mut site = Site::new(node, builder)?;
    let outputs = match &node.operator {
        // Only the chosen body is resolved, so errors in the other do not matter.
        Operator::Choose([then, otherwise]) => {
            let [Some(condition)] = site.inputs[..] else {
                return wrong!("it has {} inputs, but takes one: cond", node.inputs.len());
            };
            run(if site.is_true(condition)? { then } else { otherwise }, &[], builder)?
        }
        Operator::Loop(body) => loops::repeat(&mut site, body)?,
        Operator::Scan { body, cuts, stacks } => loops::scan(&mut site, body, cuts, stacks)?,
        _ => resolved(&mut site)?,
    };
    if outputs.len() != node.outputs.len() {
        let (gives, listed) = (outputs.len(), node.outputs.len());
        return wrong!("wrong number of outputs: it produces {gives}, but lists {listed}");
    }
    for output in outputs.iter().filter(|output| output.0 >= made_before) {
        // They already have the name of an inner node.
        if builder.called(*output).is_empty() {
            builder.name(*output, &node.name[..node.name.floor_char_boundary(MOST_NAME)]);
        }
    }
    for (output, (value, tensor)) in node.outputs.iter().zip(outputs).enumerate() {
        if builder.values.insert(*value, tensor).is_some() {
            return wrong!("its output {output} is produced twice");
        }
    }
    Ok(())
}

fn run(body: &Body, given: &[TensorId], builder: &mut Builder) -> Checked<Vec<TensorId>> {
    builder.count_run(body)?;
    if body.inputs.len() != given.len() {
        return wrong!(
            "wrong number of inputs: its body takes {}, but is given {}",
            body.inputs.len(),
            given.len()
        );
    }
    for (number, (input, tensor)) in body.inputs.iter().zip(given).enumerate() {
        let got = builder.element(*tensor);
        if let Some(declared) = input.element.filter(|declared| *declared != got) {
            return wrong!("input {number} of its body must be of type {declared}, got {got}");
        }
        if builder.values.insert(input.value, *tensor).is_some() {
            return wrong!("input {number} of its body is produced twice");
        }
    }
    add(&body.nodes, builder)?;
    let output = |(number, output): (usize, &BodyValue)| {
        let unknown = || format!("no node produces output {number} of its body").into();
        builder.values.get(&output.value).copied().ok_or_else(unknown)
    };
    let outputs = body.outputs.iter().enumerate().map(output).collect::<Checked<_>>()?;
    // The next run assigns these again.
    let inputs = body.inputs.iter().map(|input| &input.value);
    inputs
        .chain(body.nodes.iter().flat_map(|node| &node.outputs))
        .for_each(|value| _ = builder.values.remove(value));
    Ok(outputs)
}

pub(super) struct Iterations<'a> {
    body: &'a Body,
    /// The carried values for the next iteration.
    pub(super) carried: Vec<TensorId>,
    stacks: Vec<Stack>,
    pub(super) done: usize,
}

impl<'a> Iterations<'a> {
    /// The last outputs of the body are stacked along `stacks`; those before them are carried.
    pub(super) fn new(
        body: &'a Body,
        carried: Vec<TensorId>,
        stacks: &[ScanAxis],
    ) -> Iterations<'a> {
        let stacks = stacks.iter().map(|along| Stack { along: *along, parts: Vec::new() });
        Iterations { body, carried, stacks: stacks.collect(), done: 0 }
    }

    /// Runs one iteration. Returns the outputs that precede the carried values.
    pub(super) fn run(
        &mut self,
        given: &[TensorId],
        builder: &mut Builder,
    ) -> Checked<Vec<TensorId>> {
        let (control, carried, stacked) = self.run_body(given, builder)?;
        for (number, (before, after)) in self.carried.iter().zip(&carried).enumerate() {
            let (before, after) = (builder.element(*before), builder.element(*after));
            if before != after {
                return wrong!(
                    "carried value {number} is of type {before}, but of {after} after \
                     iteration {}",
                    self.done
                );
            }
        }
        for (number, (stack, part)) in self.stacks.iter_mut().zip(stacked).enumerate() {
            stack.push(part, builder).map_err(|problem| {
                format!("stacked output {number} {problem} in iteration {}", self.done)
            })?;
        }
        self.carried = carried;
        self.done += 1;
        Ok(control)
    }

    /// Returns the first outputs, the carried values, and the tensors to stack.
    fn run_body(
        &self,
        given: &[TensorId],
        builder: &mut Builder,
    ) -> Checked<(Vec<TensorId>, Vec<TensorId>, Vec<TensorId>)> {
        let mut control =
            builder.in_iteration(self.done, |builder| run(self.body, given, builder))?;
        let (gives, due) = (control.len(), self.carried.len() + self.stacks.len());
        let Some(controls) = gives.checked_sub(due) else {
            return wrong!(
                "wrong number of outputs of its body: it gives {gives}, but {due} are carried on or stacked"
            );
        };
        let mut carried = control.split_off(controls);
        let stacked = carried.split_off(self.carried.len());
        Ok((control, carried, stacked))
    }

    /// The final carried values and the stacked tensors. Without iterations, types and shapes that the file does not
    /// state come from a first iteration, whose inputs `first` returns.
    pub(super) fn outputs(
        self,
        first: impl FnOnce(&[TensorId], &mut Builder) -> Checked<Vec<TensorId>>,
        builder: &mut Builder,
    ) -> Checked<Vec<TensorId>> {
        let mut outputs = self.carried.clone();
        if self.done > 0 {
            for stack in &self.stacks {
                outputs.push(stack.joined(builder)?);
            }
            return Ok(outputs);
        }
        let first_stacked = self.body.outputs.len().saturating_sub(self.stacks.len());
        let declared = self.body.outputs.iter().skip(first_stacked);
        let parts: Option<Vec<(ElementType, Shape)>> = declared.map(declared_part).collect();
        let parts = match parts {
            Some(parts) => parts,
            None => self.first_parts(first, builder)?,
        };
        for (stack, (element, part)) in self.stacks.iter().zip(parts) {
            outputs.push(stack.empty(element, &part, builder)?);
        }
        Ok(outputs)
    }

    /// The parts that a first iteration would stack.
    fn first_parts(
        &self,
        first: impl FnOnce(&[TensorId], &mut Builder) -> Checked<Vec<TensorId>>,
        builder: &mut Builder,
    ) -> Checked<Vec<(ElementType, Shape)>> {
        let unknown = |problem: Problem| {
            let problem = problem.of("the first would fail");
            format!(
                "it has no iterations, and its body does not state the shapes of its stacked outputs: {problem}"
            )
        };
        let given = first(&self.carried, builder)?;
        let (_, _, stacked) = self.run_body(&given, builder).map_err(unknown)?;
        let of = |part: TensorId| (builder.element(part), builder.shape(part).clone());
        Ok(stacked.into_iter().map(of).collect())
    }
}

fn declared_part(output: &BodyValue) -> Option<(ElementType, Shape)> {
    Some((output.element?, Shape::new(output.shape.sizes()?).ok()?))
}

/// Tensors of the same shape, one for each iteration.
struct Stack {
    along: ScanAxis,
    parts: Vec<TensorId>,
}

impl Stack {
    /// The type and shape must equal the first part's.
    fn push(&mut self, part: TensorId, builder: &Builder) -> std::result::Result<(), String> {
        if let Some(first) = self.parts.first() {
            let [(element, shape), (other, of)] =
                [*first, part].map(|part| (builder.element(part), builder.shape(part)));
            if (element, shape) != (other, of) {
                return Err(format!("is {element} {shape} in iteration 0, but {other} {of}"));
            }
        }
        self.parts.push(part);
        Ok(())
    }

    fn joined(&self, builder: &mut Builder) -> Checked<TensorId> {
        let Some(first) = self.parts.first() else { return wrong!("there is nothing to stack") };
        let (axis, layer) = self.layer(builder.shape(*first), 1)?;
        let layers = self.parts.iter().map(|part| builder.reshaped(*part, &layer));
        let mut layers = layers.collect::<Checked<Vec<_>>>()?;
        if self.along.is_backward {
            layers.reverse();
        }
        builder.joined(axis, &layers)
    }

    /// `element` is the type of a part, and `part` is its shape.
    fn empty(
        &self,
        element: ElementType,
        part: &Shape,
        builder: &mut Builder,
    ) -> Checked<TensorId> {
        let (_, shape) = self.layer(part, 0)?;
        builder.constant(&Constant { element, shape, data: Data::empty(element) })
    }

    /// The new axis, and the shape of a part with it at size `size`.
    fn layer(&self, part: &Shape, size: usize) -> Checked<(usize, Shape)> {
        let axis = normalize_axis("axis", self.along.axis, part.rank() + 1)?;
        let (before, after) = part.split_at(axis);
        Ok((axis, Shape::new([before, &[size], after].concat())?))
    }
}
