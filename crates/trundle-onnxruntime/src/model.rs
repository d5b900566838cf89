//! The operator `Move`: applies a model of movement operators.

use std::ffi::CStr;

use trundle_models::{
    Data, ElementType, Given, InputView, Model, PlanCache, PlannedModel, TensorId, onnx,
};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::inference::Inference;
use crate::node::Node;
use crate::operator::{Operator, Port};
use crate::samples::inferred;
use crate::tensor::{Input, Output};

pub(crate) struct ModelOperator {
    model: Model,
    plans: PlanCache,
    /// The output types that the graph states.
    declared: Vec<Option<ElementType>>,
}

const ATTRIBUTE: &CStr = c"model";

impl Operator for ModelOperator {
    const NAME: &'static CStr = c"Move";
    const INPUTS: &'static [Port] = &[Port::AnyNumber];
    const OUTPUT: Port = Port::AnyNumber;

    fn new(node: &Node) -> Result<ModelOperator> {
        let model = onnx::read_typed(node.text(ATTRIBUTE)?, &node.input_types()?)?;
        let declared = node.output_types()?;
        let (gives, has) = (model.outputs.len(), declared.len());
        match gives == has {
            true => Ok(ModelOperator { model, plans: PlanCache::default(), declared }),
            false => Err(Failure(format!(
                "wrong number of outputs: the model gives {gives}, the node has {has}"
            ))),
        }
    }

    fn run(&self, context: &Context) -> Result<()> {
        let inputs = context.inputs()?;
        self.check(&inputs)?;
        let views: Vec<InputView<'_>> = inputs.iter().map(Input::view).collect();
        let planned = self.plans.planned(&self.model, &views, None)?;
        run_planned(context, &planned, &inputs, &self.declared)
    }

    fn infer(inference: &Inference) -> Result<()> {
        let inputs = inference.inputs()?;
        let types: Vec<ElementType> = inputs.iter().map(|input| input.element).collect();
        let model = onnx::read_typed(inference.text(ATTRIBUTE)?, &types)?;
        let outputs = inferred(&inputs, |shapes| {
            let given = shapes.iter().map(|shape| Given { shape: shape.clone(), data: None });
            let resolved = model.resolve(&given.collect::<Vec<_>>())?;
            let output = |id: &TensorId| (resolved.element(*id), resolved.shape(*id).clone());
            Ok(resolved.outputs().iter().map(output).collect())
        })?;
        for (number, output) in outputs.iter().enumerate() {
            inference.output(number, output.element, &output.sizes)?;
        }
        Ok(())
    }
}

impl ModelOperator {
    /// The types must be those for which the kernel was created.
    fn check(&self, inputs: &[Input<'_>]) -> Result<()> {
        let takes = self.model.inputs.len();
        if takes != inputs.len() {
            return Err(Failure(format!(
                "wrong number of inputs: the model takes {takes}, got {}",
                inputs.len()
            )));
        }
        for (number, (own, given)) in self.model.inputs.iter().zip(inputs).enumerate() {
            if own.element != given.element {
                let problem = format!("must be of {}, got {}", own.element, given.element);
                return Err(Failure(problem).of("input", number));
            }
        }
        Ok(())
    }
}

/// A tensor of the plan; the output is `None` if no node reads it.
type Written<'a> = (TensorId, Option<Output<'a>>);

/// Creates the outputs and moves the inputs to them. `declared` has the graph's output types.
pub(crate) fn run_planned(
    context: &Context,
    planned: &PlannedModel,
    inputs: &[Input<'_>],
    declared: &[Option<ElementType>],
) -> Result<()> {
    let model = planned.model();
    let output = |(number, (id, declared)): (usize, (&TensorId, &Option<ElementType>))| {
        Ok((*id, context.output(number, (model.element(*id), model.shape(*id)), *declared)?))
    };
    let outputs = model.outputs().iter().zip(declared).enumerate().map(output);
    let mut outputs = outputs.collect::<Result<Vec<Written<'_>>>>()?;
    if outputs.iter().all(|(_, output)| output.is_none()) {
        return Ok(());
    }
    let given = inputs.iter().map(|input| input.element);
    let mut types = given.chain(model.outputs().iter().map(|id| model.element(*id)));
    match types.any(|element| element == ElementType::String) {
        true => run_with_texts(planned, inputs, &mut outputs),
        false => run(planned, inputs, &mut outputs),
    }
}

/// Directly from inputs to outputs.
fn run(planned: &PlannedModel, inputs: &[Input<'_>], outputs: &mut [Written<'_>]) -> Result<()> {
    let unread = |(id, output): &Written<'_>| match output {
        Some(_) => Vec::new(),
        None => vec![0; planned.model().program().tensor(*id).bytes()],
    };
    let mut unread: Vec<Vec<u8>> = outputs.iter().map(unread).collect();
    let mut targets = Vec::with_capacity(outputs.len());
    for ((_, output), unread) in outputs.iter_mut().zip(&mut unread) {
        targets.push(match output {
            Some(output) => output.bytes()?,
            None => &mut unread[..],
        });
    }
    let sources: Vec<&[u8]> = inputs.iter().map(|input| input.bytes).collect();
    Ok(planned.run_into(&sources, &mut targets)?)
}

/// Moves the elements through temporary buffers, because some tensors hold strings.
fn run_with_texts(
    planned: &PlannedModel,
    inputs: &[Input<'_>],
    outputs: &mut [Written<'_>],
) -> Result<()> {
    let inputs = inputs.iter().map(Input::data).collect::<Result<Vec<_>>>()?;
    let moved = planned.run(&inputs, &mut |_| ())?;
    for ((_, output), data) in outputs.iter_mut().zip(&moved) {
        let Some(output) = output else { continue };
        match data {
            Data::Bytes(bytes) => output.bytes()?.copy_from_slice(bytes),
            Data::Strings(strings) => {
                output.put(&strings.iter().map(String::as_str).collect::<Vec<_>>())?;
            }
        }
    }
    Ok(())
}
