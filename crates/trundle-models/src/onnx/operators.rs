//! ONNX's operators that move elements, in each form that they have had.
//!
//! After <https://onnx.ai/onnx/operators/>, up to opset [`NEWEST`](super::opsets::NEWEST). Most new
//! versions of an operator only take more element types, which all are taken here from the first
//! on; negative axes too, which old versions leave open.

use super::call::{Call, missing};
use super::problem::{Checked, Problem, wrong};
use crate::{BlockOrder, IntegerTypes, Integers, Operator, Pads, Parts, ZeroSize};

/// An operator: what the file calls it, the first opset that has it, and how its neutral form is
/// made.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) since: i64,
    pub(super) read: fn(&mut Call<'_, '_>) -> Checked<Operator>,
}

/// Every operator there is here, sorted by name.
pub(super) const OPERATORS: &[Row] = &[
    Row { name: "Concat", since: 1, read: concat },
    Row { name: "Constant", since: 1, read: constant },
    Row { name: "DepthToSpace", since: 1, read: depth_to_space },
    Row { name: "Dropout", since: 1, read: dropout },
    Row { name: "Flatten", since: 1, read: flatten },
    Row { name: "Identity", since: 1, read: identity },
    Row { name: "Pad", since: 1, read: pad },
    Row { name: "Reshape", since: 1, read: reshape },
    Row { name: "ReverseSequence", since: 10, read: reverse_sequence },
    Row { name: "Slice", since: 1, read: slice },
    Row { name: "SpaceToDepth", since: 1, read: space_to_depth },
    Row { name: "Split", since: 1, read: split },
    Row { name: "Squeeze", since: 1, read: squeeze },
    Row { name: "Tile", since: 1, read: tile },
    Row { name: "Transpose", since: 1, read: transpose },
    Row { name: "Unsqueeze", since: 1, read: unsqueeze },
];

/// The operator of this name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    OPERATORS.iter().find(|row| row.name == name)
}

/// All names, for messages.
pub(super) fn names() -> String {
    let names: Vec<&str> = OPERATORS.iter().map(|row| row.name).collect();
    names.join(", ")
}

/// Refuses another number of outputs than one.
fn one_output(call: &Call<'_, '_>) -> Checked<()> {
    match call.outputs {
        1 => Ok(()),
        outputs => wrong(format!("it lists {outputs} outputs, but produces one")),
    }
}

fn concat(call: &mut Call<'_, '_>) -> Checked<Operator> {
    one_output(call)?;
    if call.inputs.is_empty() {
        return wrong("it has no inputs".to_owned());
    }
    if let Some(number) = call.inputs.iter().position(Option::is_none) {
        return wrong(format!("input {number} is missing"));
    }
    let axis = match call.attributes.int("axis")? {
        Some(axis) => axis,
        None if call.opset < 4 => 1,
        None => return Err(missing("axis")),
    };
    Ok(Operator::Concat { axis })
}

fn constant(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&[], &[])?;
    one_output(call)?;
    Ok(Operator::Constant(call.tensors.value(&mut call.attributes, call.opset)?))
}

fn depth_to_space(call: &mut Call<'_, '_>) -> Checked<Operator> {
    let (block, order) = blocks(call, 11)?;
    Ok(Operator::DepthToSpace { block, order })
}

fn space_to_depth(call: &mut Call<'_, '_>) -> Checked<Operator> {
    let (block, order) = blocks(call, 28)?;
    Ok(Operator::SpaceToDepth { block, order })
}

/// The length of a block's side and its place, of an operator that has a mode since this opset.
fn blocks(call: &mut Call<'_, '_>, mode_since: i64) -> Checked<(usize, BlockOrder)> {
    call.takes(&["input"], &[])?;
    one_output(call)?;
    let side = call.attributes.int("blocksize")?.ok_or_else(|| missing("blocksize"))?;
    let mode = if call.opset < mode_since { None } else { call.attributes.text("mode")? };
    let order = match mode {
        None | Some("DCR") => BlockOrder::BlocksFirst,
        Some("CRD") => BlockOrder::DepthFirst,
        Some(mode) => return wrong(format!("mode is {mode:?}, expected \"DCR\" or \"CRD\"")),
    };
    match usize::try_from(side) {
        Ok(block) if block > 0 => Ok((block, order)),
        _ => wrong(format!("blocksize is {side}, expected 1 or more")),
    }
}

/// Dropout as it is at inference: the data as it is. In training it computes.
fn dropout(call: &mut Call<'_, '_>) -> Checked<Operator> {
    let inputs: &[&str] = if call.opset < 12 { &[] } else { &["ratio", "training_mode"] };
    call.takes(&["data"], inputs)?;
    call.attributes.float("ratio")?;
    let trains = match call.opset {
        ..7 => {
            call.attributes.ignore("consumed_inputs");
            call.attributes.int("is_test")?.unwrap_or(0) == 0
        }
        7..12 => false,
        _ => {
            call.attributes.int("seed")?;
            call.has(2)
        }
    };
    if trains {
        let problem = "only Dropout at inference is supported: it may be training".to_owned();
        return Err(Problem::Unsupported(problem));
    }
    if call.outputs != 1 {
        let problem = "the mask of Dropout is not supported".to_owned();
        return Err(Problem::Unsupported(problem));
    }
    Ok(Operator::Identity)
}

fn flatten(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&["input"], &[])?;
    one_output(call)?;
    Ok(Operator::Flatten { axis: call.attributes.int("axis")?.unwrap_or(1) })
}

fn identity(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&["input"], &[])?;
    one_output(call)?;
    Ok(Operator::Identity)
}

fn pad(call: &mut Call<'_, '_>) -> Checked<Operator> {
    match call.attributes.text("mode")? {
        None | Some("constant") => (),
        Some(mode) => {
            let problem = format!("mode {mode:?} is not supported, only \"constant\" is");
            return Err(Problem::Unsupported(problem));
        }
    }
    one_output(call)?;
    if call.opset < 11 {
        return pad_by_attributes(call);
    }
    if call.opset < 18 {
        call.takes(&["data", "pads"], &["constant_value"])?;
    } else {
        call.takes(&["data", "pads"], &["constant_value", "axes"])?;
    }
    Ok(Operator::Pad {
        pads: Pads::Both(Integers::Input { input: 1, types: IntegerTypes::I64 }),
        axes: call.optional_list(3, IntegerTypes::I32OrI64),
        value: call.has(2).then_some(2),
    })
}

/// Pad of opset 1 and 2, whose value is a float whatever the data is.
fn pad_by_attributes(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&["data"], &[])?;
    let pads = Pads::Both(call.required(if call.opset < 2 { "paddings" } else { "pads" })?);
    // The zero that is there without a value is the positive one, all of whose bits are 0.
    call.appended = call.attributes.float("value")?.filter(|bits| *bits != 0);
    let value = call.appended.map(|_| call.inputs.len());
    Ok(Operator::Pad { pads, axes: None, value })
}

fn reshape(call: &mut Call<'_, '_>) -> Checked<Operator> {
    one_output(call)?;
    if call.opset < 5 {
        call.takes(&["data"], &[])?;
        call.attributes.ignore("consumed_inputs");
        return Ok(Operator::Reshape { sizes: call.required("shape")?, zero: ZeroSize::Copies });
    }
    call.takes(&["data", "shape"], &[])?;
    let sizes = Integers::Input { input: 1, types: IntegerTypes::I64 };
    let allow_zero = if call.opset < 14 { None } else { call.attributes.int("allowzero")? };
    let zero = if allow_zero.unwrap_or(0) == 0 { ZeroSize::Copies } else { ZeroSize::Zero };
    Ok(Operator::Reshape { sizes, zero })
}

fn reverse_sequence(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&["input", "sequence_lens"], &[])?;
    one_output(call)?;
    let batch_axis = call.attributes.int("batch_axis")?.unwrap_or(1);
    let sequence_axis = call.attributes.int("time_axis")?.unwrap_or(0);
    if !matches!((batch_axis, sequence_axis), (0, 1) | (1, 0)) {
        return wrong(format!(
            "batch_axis is {batch_axis} and time_axis {sequence_axis}, expected 0 and 1 or 1 and 0"
        ));
    }
    let lengths = Integers::Input { input: 1, types: IntegerTypes::I64 };
    Ok(Operator::ReverseSequence { lengths, batch_axis, sequence_axis })
}

fn slice(call: &mut Call<'_, '_>) -> Checked<Operator> {
    one_output(call)?;
    if call.opset < 10 {
        return slice_by_attributes(call);
    }
    call.takes(&["data", "starts", "ends"], &["axes", "steps"])?;
    let types = IntegerTypes::I32OrI64;
    Ok(Operator::Slice {
        starts: Integers::Input { input: 1, types },
        stops: Integers::Input { input: 2, types },
        axes: call.optional_list(3, types),
        steps: call.optional_list(4, types),
    })
}

/// Slice before opset 10, which by default is of the first axes only: as many as there are starts.
fn slice_by_attributes(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&["data"], &[])?;
    let starts = call.attributes.ints("starts")?.ok_or_else(|| missing("starts"))?;
    let stops = call.required("ends")?;
    let axes = match call.given("axes")? {
        Some(axes) => axes,
        None => Integers::Given((0..).zip(starts).map(|(axis, _)| axis).collect()),
    };
    let starts = Integers::Given(starts.to_vec());
    Ok(Operator::Slice { starts, stops, axes: Some(axes), steps: None })
}

fn split(call: &mut Call<'_, '_>) -> Checked<Operator> {
    if call.outputs == 0 {
        return wrong("it has no outputs".to_owned());
    }
    let axis = Integers::Given(vec![call.attributes.int("axis")?.unwrap_or(0)]);
    let by_attribute = if call.opset < 13 { call.attributes.ints("split")? } else { None };
    // The first version's only input beside the data has the data's type, a float.
    let (inputs, types): (&[&str], _) = match call.opset {
        1 => (&["split"], IntegerTypes::Numbers),
        2..13 => (&[], IntegerTypes::I64),
        _ => (&["split"], IntegerTypes::I64),
    };
    call.takes(&["input"], inputs)?;
    let count = if call.opset < 18 { None } else { call.attributes.int("num_outputs")? };
    let parts = match (by_attribute, call.optional_list(1, types), count) {
        (Some(sizes), None, None) => {
            if let Some(size) = sizes.iter().find(|size| **size < 0) {
                return wrong(format!("split has {size}, expected sizes of 0 or more"));
            }
            Parts::Sizes(Integers::Given(sizes.to_vec()))
        }
        (None, Some(sizes), None) => Parts::Sizes(sizes),
        (None, None, Some(count)) => {
            if usize::try_from(count) != Ok(call.outputs) {
                let outputs = call.outputs;
                return wrong(format!("num_outputs is {count}, and it has {outputs} outputs"));
            }
            Parts::LastSmaller
        }
        // From opset 18 on it should say one of the two; runtimes take the number of outputs.
        (None, None, None) => Parts::Equal,
        _ => return wrong("it says twice how large its parts are".to_owned()),
    };
    Ok(Operator::Split { axis, parts })
}

fn squeeze(call: &mut Call<'_, '_>) -> Checked<Operator> {
    one_output(call)?;
    let axes = if call.opset < 13 {
        call.takes(&["data"], &[])?;
        call.given("axes")?
    } else {
        call.takes(&["data"], &["axes"])?;
        call.optional_list(1, IntegerTypes::I64)
    };
    Ok(Operator::Squeeze { axes, keeps_others: false })
}

fn tile(call: &mut Call<'_, '_>) -> Checked<Operator> {
    one_output(call)?;
    if call.opset < 6 {
        call.takes(&["input", "tiles", "axis"], &[])?;
        // Both have the data's type, a float.
        let types = IntegerTypes::Numbers;
        return Ok(Operator::TileAxis {
            repeats: Integers::Input { input: 1, types },
            axis: Integers::Input { input: 2, types },
        });
    }
    call.takes(&["input", "repeats"], &[])?;
    Ok(Operator::Tile { repeats: Integers::Input { input: 1, types: IntegerTypes::I64 } })
}

fn transpose(call: &mut Call<'_, '_>) -> Checked<Operator> {
    call.takes(&["data"], &[])?;
    one_output(call)?;
    let order = call.given("perm")?.unwrap_or_else(|| Integers::Given(Vec::new()));
    Ok(Operator::Transpose { order })
}

fn unsqueeze(call: &mut Call<'_, '_>) -> Checked<Operator> {
    one_output(call)?;
    let axes = if call.opset < 13 {
        call.takes(&["data"], &[])?;
        call.required("axes")?
    } else {
        call.takes(&["data", "axes"], &[])?;
        Integers::Input { input: 1, types: IntegerTypes::I64 }
    };
    Ok(Operator::Unsqueeze { axes })
}
