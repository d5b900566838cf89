//! Repeated runs of a body, with carried values and stacked outputs.

use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::builder::Builder;
use super::site::Values;
use crate::problem::{Checked, Problem, wrong};
use crate::{Body, BodyValue, Constant, Data, ElementType, ScanAxis};

/// Always [`run`](super::graph::run). It is passed as an argument because the module `graph` uses this one.
pub(super) type Run = fn(&Body, &[TensorId], &mut Values, &mut Builder) -> Checked<Vec<TensorId>>;

/// The iterations of a body so far.
pub(super) struct Iterations<'a> {
    body: &'a Body,
    run: Run,
    carried: Vec<TensorId>,
    stacks: Vec<Stack>,
    done: usize,
}

impl<'a> Iterations<'a> {
    /// Starts without iterations. The body's last outputs are stacked along `stacks`; the outputs before
    /// these are carried.
    pub(super) fn new(
        body: &'a Body,
        run: Run,
        carried: Vec<TensorId>,
        stacks: &[ScanAxis],
    ) -> Iterations<'a> {
        let stacks = stacks.iter().map(|along| Stack { along: *along, parts: Vec::new() });
        Iterations { body, run, carried, stacks: stacks.collect(), done: 0 }
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// The carried values for the next iteration.
    pub(super) fn carried(&self) -> &[TensorId] {
        &self.carried
    }

    /// Runs an iteration on these inputs. Returns the outputs of the body that precede the carried ones.
    pub(super) fn run(
        &mut self,
        given: &[TensorId],
        values: &mut Values,
        builder: &mut Builder,
    ) -> Checked<Vec<TensorId>> {
        let (control, carried, stacked) = self.run_body(given, values, builder)?;
        for (number, (before, after)) in self.carried.iter().zip(&carried).enumerate() {
            let (before, after) = (builder.element(*before), builder.element(*after));
            if before != after {
                return wrong!(
                    "what it carries as number {number} is of type {before}, but of {after} after \
                     iteration {}",
                    self.done
                );
            }
        }
        for (number, (stack, part)) in self.stacks.iter_mut().zip(stacked).enumerate() {
            stack.push(part, builder).map_err(|problem| {
                format!("what it stacks as number {number} {problem} in iteration {}", self.done)
            })?;
        }
        self.carried = carried;
        self.done += 1;
        Ok(control)
    }

    /// Runs the body; splits its outputs into those before the carried ones, the carried ones, and those to
    /// stack.
    fn run_body(
        &self,
        given: &[TensorId],
        values: &mut Values,
        builder: &mut Builder,
    ) -> Checked<(Vec<TensorId>, Vec<TensorId>, Vec<TensorId>)> {
        let mut control = builder
            .in_iteration(self.done, |builder| (self.run)(self.body, given, values, builder))?;
        let (gives, due) = (control.len(), self.carried.len() + self.stacks.len());
        let Some(controls) = gives.checked_sub(due) else {
            return wrong!("its body gives {gives} tensors, and {due} are carried on or stacked");
        };
        let mut carried = control.split_off(controls);
        let stacked = carried.split_off(self.carried.len());
        Ok((control, carried, stacked))
    }

    /// The final carried values and the stacks. If there was no iteration, `first` returns the inputs that
    /// the first would have.
    pub(super) fn outputs(
        self,
        first: impl FnOnce(&[TensorId], &mut Builder) -> Checked<Vec<TensorId>>,
        values: &mut Values,
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
        let stated = self.body.outputs.iter().skip(first_stacked);
        let parts: Option<Vec<(ElementType, Shape)>> = stated.map(stated_part).collect();
        let parts = match parts {
            Some(parts) => parts,
            None => self.first_parts(first, values, builder)?,
        };
        for (stack, (element, part)) in self.stacks.iter().zip(parts) {
            outputs.push(stack.empty(element, &part, builder)?);
        }
        Ok(outputs)
    }

    /// The types and shapes of the stacked outputs of a first iteration.
    fn first_parts(
        &self,
        first: impl FnOnce(&[TensorId], &mut Builder) -> Checked<Vec<TensorId>>,
        values: &mut Values,
        builder: &mut Builder,
    ) -> Checked<Vec<(ElementType, Shape)>> {
        let unknown = |problem: Problem| {
            let problem = problem.of("the first would fail");
            format!(
                "it has no iteration, and its body does not state the shapes of what it stacks: {problem}"
            )
        };
        let given = first(&self.carried, builder)?;
        let (_, _, stacked) = self.run_body(&given, values, builder).map_err(unknown)?;
        let of = |part: TensorId| (builder.element(part), builder.shape(part).clone());
        Ok(stacked.into_iter().map(of).collect())
    }
}

fn stated_part(output: &BodyValue) -> Option<(ElementType, Shape)> {
    Some((output.element?, Shape::new(output.shape.sizes()?).ok()?))
}

/// Tensors of the same shape, one for each iteration.
struct Stack {
    along: ScanAxis,
    parts: Vec<TensorId>,
}

impl Stack {
    /// Adds a part; an error if its type or shape differs.
    fn push(&mut self, part: TensorId, builder: &Builder) -> Result<(), String> {
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

    /// Joins all parts along the new axis.
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

    /// The stack without parts, for parts of a type and shape.
    fn empty(
        &self,
        element: ElementType,
        part: &Shape,
        builder: &mut Builder,
    ) -> Checked<TensorId> {
        let (_, shape) = self.layer(part, 0)?;
        let data = match element {
            ElementType::Fixed(_) => Data::Bytes(bytes::Bytes::new()),
            ElementType::String => Data::Strings([].into()),
        };
        builder.constant(&Constant { element, shape, data })
    }

    /// The new axis, and the shape of a part with it.
    fn layer(&self, part: &Shape, size: usize) -> Checked<(usize, Shape)> {
        let axis = normalize_axis("axis", self.along.axis, part.rank() + 1)?;
        let (before, after) = part.split_at(axis);
        Ok((axis, Shape::new([before, &[size], after].concat())?))
    }
}
