//! The value of an old Pad, which the file states as a float, in the type of the data.

use half::f16;
use trundle_core::DType;

use super::tensors::scalar;
use crate::problem::{Checked, wrong};
use crate::{Constant, ElementType, Input, Node, Operator, Result, ValueId};

/// A constant that stands for the value of a Pad of opset 1 or 2.
pub(super) struct PadValue {
    /// The constant.
    pub(super) constant: ValueId,
    /// What is padded.
    pub(super) data: ValueId,
    /// The bits of the f32 that the file states.
    pub(super) bits: u32,
}

/// Gives each of `pads` the type of its data. `nodes` are in order.
///
/// # Errors
/// If a type is none that a Pad of these opsets takes.
pub(super) fn convert(
    pads: &[PadValue],
    nodes: &mut [Node],
    inputs: &[Input],
    values: usize,
) -> Result<()> {
    if pads.is_empty() {
        return Ok(());
    }
    let mut types: Vec<Option<ElementType>> = vec![None; values];
    let mut makers = vec![None; values];
    for input in inputs {
        types[input.value.0] = Some(input.element);
    }
    for (place, node) in nodes.iter().enumerate() {
        // All operators give the type of their data, which is their first input.
        let element = match &node.operator {
            Operator::Constant(constant) => Some(constant.element),
            _ => node.inputs.first().copied().flatten().and_then(|data| types[data.0]),
        };
        for output in &node.outputs {
            types[output.0] = element;
            makers[output.0] = Some(place);
        }
    }
    for pad in pads {
        let Some(node) = makers[pad.constant.0].and_then(|place| nodes.get_mut(place)) else {
            continue;
        };
        let value = of_type(f32::from_bits(pad.bits), types[pad.data.0])
            .map_err(|problem| problem.of(format!("Pad {:?}", node.name)))?;
        node.operator = Operator::Constant(value);
    }
    Ok(())
}

fn of_type(value: f32, element: Option<ElementType>) -> Checked<Constant> {
    match element {
        Some(ElementType::Fixed(DType::F32)) => Ok(scalar(DType::F32, &value.to_le_bytes())),
        Some(ElementType::Fixed(DType::F64)) => {
            Ok(scalar(DType::F64, &f64::from(value).to_le_bytes()))
        }
        Some(ElementType::Fixed(DType::F16)) => {
            Ok(scalar(DType::F16, &f16::from_f32(value).to_le_bytes()))
        }
        Some(other) => wrong!("its value is {value}, a float, and its data {other}"),
        None => wrong!("the type of its data is not known"),
    }
}
