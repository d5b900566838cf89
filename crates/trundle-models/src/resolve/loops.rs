//! Unrolls loops: the number of iterations is known when the model is resolved, and each runs the body once.

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::branches::is_true;
use super::builder::Builder;
use super::iterations::{Iterations, Run};
use super::site::{Site, Values, all, read};
use crate::problem::{Checked, wrong};
use crate::{
    Body, Constant, Data, ElementType, IntegerTypes, Integers, Node, PartialShape, ScanAxis,
};

/// The number of control inputs of a loop and of its body: iteration and condition.
const CONTROLS: usize = 2;

/// Loop. The condition that the body returns is ignored if the loop has no condition input.
///
/// Source: ONNX's Loop, opset 25.
pub(super) fn repeat(
    node: &Node,
    body: &Body,
    run: Run,
    values: &mut Values,
    builder: &mut Builder,
) -> Checked<Vec<TensorId>> {
    let inputs = read(node, values)?;
    let control = |number: usize| inputs.get(number).copied().flatten();
    let (most, condition) = (control(0), control(1));
    let carried = all(&inputs, CONTROLS)?;
    if most.is_none() && condition.is_none() {
        return wrong!("it has neither M nor cond, and would never end");
    }
    let most = most.map(|most| trip_count(node, most, builder)).transpose()?;
    if let (Some(most), None) = (most, condition) {
        builder.check_iterations(body, most)?;
    }

    let stacks = body.outputs.len().saturating_sub(1 + carried.len());
    let stacks = vec![ScanAxis { axis: 0, is_backward: false }; stacks];
    let mut iterations = Iterations::new(body, run, carried, &stacks);
    let mut goes_on = match condition {
        Some(condition) => condition,
        None => control_constant(DType::Boolean, &[1], Shape::default(), builder)?,
    };
    while most.is_none_or(|most| iterations.done() < most)
        && (condition.is_none() || is_true(node, goes_on, builder)?)
    {
        let given = given(body, iterations.done(), goes_on, iterations.carried(), builder)?;
        let [next] = iterations.run(&given, values, builder)?[..] else {
            return wrong!("its body does not say whether it goes on");
        };
        goes_on = next;
    }
    let first =
        |carried: &[TensorId], builder: &mut Builder| given(body, 0, goes_on, carried, builder);
    iterations.outputs(first, values, builder)
}

/// The largest number of iterations of a loop.
fn trip_count(node: &Node, most: TensorId, builder: &mut Builder) -> Checked<usize> {
    let mut site = Site::over(node, vec![Some(most)], builder);
    let most = site.single("M", &Integers::Input { input: 0, types: IntegerTypes::I64 })?;
    Ok(usize::try_from(most.max(0)).unwrap_or(usize::MAX))
}

/// The inputs of the body: iteration index, condition, and carried values.
fn given(
    body: &Body,
    iteration: usize,
    goes_on: TensorId,
    carried: &[TensorId],
    builder: &mut Builder,
) -> Checked<Vec<TensorId>> {
    // Some bodies declare the index as a list of one.
    let shape = match body.inputs.first().map(|input| &input.shape) {
        Some(PartialShape::Ranked(sizes)) if sizes.len() == 1 => Shape::new([1])?,
        _ => Shape::default(),
    };
    let number = control_constant(DType::I64, &(iteration as u64).to_le_bytes(), shape, builder)?;
    Ok([&[number, goes_on], carried].concat())
}

fn control_constant(
    dtype: DType,
    bytes: &[u8],
    shape: Shape,
    builder: &mut Builder,
) -> Checked<TensorId> {
    let data = Data::Bytes(bytes.to_vec().into());
    builder.constant(&Constant { element: ElementType::Fixed(dtype), shape, data })
}
