//! ONNX's operators that move elements, in each of their versions.
//!
//! After <https://onnx.ai/onnx/operators/>, up to opset [`NEWEST`](super::opsets::NEWEST). Most new versions of an
//! operator only add element types. This table accepts all element types and negative axes in every version.

use trundle_core::ops::PadMode;
use trundle_core::{DType, Shape};

use super::arithmetic::ARITHMETIC;
use super::element::element_type;
use super::operator_node::{OperatorNode, OperatorVersion, missing, version};
use super::opsets::domain;
use super::proto;
use super::resize::{
    resize, resize_by_scales, upsample, upsample_by_attribute, upsample_by_height_and_width,
    upsample_withdrawn,
};
use crate::problem::{Checked, unsupported, wrong};
use crate::{
    BlockOrder, BroadcastRule, Constant, ElementType, EyeSizes, IndexRule, IntegerTypes, Integers,
    Operator, PadValue, Pads, Parts, ZeroSize,
};

/// Sorted by name, oldest version first.
pub(super) const OPERATORS: &[OperatorVersion] = &[
    version("CenterCropPad", 18, &["input_data", "shape"], &[], center_crop_pad),
    OperatorVersion { inputs: None, ..version("Concat", 1, &[], &[], concat) },
    version("Constant", 1, &[], &[], constant),
    version("ConstantOfShape", 9, &["input"], &[], constant_of_shape),
    version("DepthToSpace", 1, &["input"], &[], depth_to_space),
    OperatorVersion { one_output: false, ..version("Dropout", 1, &["data"], &[], dropout) },
    OperatorVersion {
        one_output: false,
        ..version("Dropout", 12, &["data"], &["ratio", "training_mode"], dropout)
    },
    OperatorVersion { inputs: None, ..version("Einsum", 12, &[], &[], einsum) },
    version("Expand", 8, &["input", "shape"], &[], expand),
    version("EyeLike", 9, &["input"], &[], eye_like),
    version("Flatten", 1, &["input"], &[], |node| Ok(Operator::Flatten { axis: node.axis(1)? })),
    version("Gather", 1, &["data", "indices"], &[], gather),
    version("GatherElements", 11, &["data", "indices"], &[], gather_elements),
    version("GatherND", 11, &["data", "indices"], &[], gather_nd),
    version("Identity", 1, &["input"], &[], |_| Ok(Operator::Identity)),
    version("Pad", 1, &["data"], &[], pad_by_attributes),
    version("Pad", 11, &["data", "pads"], &["constant_value"], pad),
    version("Pad", 18, &["data", "pads"], &["constant_value", "axes"], pad),
    version("Range", 11, &["start", "limit", "delta"], &[], range),
    version("Reshape", 1, &["data"], &[], reshape_by_attribute),
    version("Reshape", 5, &["data", "shape"], &[], reshape),
    version("Resize", 10, &["X", "scales"], &[], resize_by_scales),
    version("Resize", 11, &["X", "roi", "scales"], &["sizes"], resize),
    version("Resize", 13, &["X"], &["roi", "scales", "sizes"], resize),
    version("ReverseSequence", 10, &["input", "sequence_lens"], &[], reverse_sequence),
    version("Scatter", 9, &["data", "indices", "updates"], &[], scatter_elements),
    version("Scatter", 11, &["data", "indices", "updates"], &[], scatter_withdrawn),
    version("ScatterElements", 11, &["data", "indices", "updates"], &[], scatter_elements),
    version("ScatterND", 11, &["data", "indices", "updates"], &[], scatter_nd),
    version("Shape", 1, &["data"], &[], shape),
    version("Size", 1, &["data"], &[], |_| Ok(Operator::Size)),
    version("Slice", 1, &["data"], &[], slice_by_attributes),
    version("Slice", 10, &["data", "starts", "ends"], &["axes", "steps"], slice),
    version("SpaceToDepth", 1, &["input"], &[], space_to_depth),
    OperatorVersion { one_output: false, ..version("Split", 1, &["input"], &["split"], split) },
    OperatorVersion { one_output: false, ..version("Split", 2, &["input"], &[], split) },
    OperatorVersion { one_output: false, ..version("Split", 13, &["input"], &["split"], split) },
    version("Squeeze", 1, &["data"], &[], squeeze_by_attribute),
    version("Squeeze", 13, &["data"], &["axes"], squeeze),
    version("TensorScatter", 24, &["past_cache", "update"], &["write_indices"], tensor_scatter),
    version("Tile", 1, &["input", "tiles", "axis"], &[], tile_axis),
    version("Tile", 6, &["input", "repeats"], &[], |_| Ok(Operator::Tile { repeats: list(1) })),
    version("Transpose", 1, &["data"], &[], transpose),
    version("Trilu", 14, &["input"], &["k"], trilu),
    version("Unsqueeze", 1, &["data"], &[], unsqueeze_by_attribute),
    version("Unsqueeze", 13, &["data", "axes"], &[], |_| Ok(Operator::Unsqueeze { axes: list(1) })),
    version("Upsample", 1, &["X"], &[], upsample_by_height_and_width),
    version("Upsample", 7, &["X"], &[], upsample_by_attribute),
    version("Upsample", 9, &["X", "scales"], &[], upsample),
    version("Upsample", 10, &["X", "scales"], &[], upsample_withdrawn),
];

const HOLDERS: [&str; 3] = ["If", "Loop", "Scan"];

pub(super) fn is_holder(node: &proto::Node) -> bool {
    let is_own = domain(&node.domain).is_empty() && node.overload.is_empty();
    is_own && HOLDERS.contains(&node.op_type.as_str())
}

/// Oldest first.
pub(super) fn versions(name: &str) -> impl DoubleEndedIterator<Item = &'static OperatorVersion> {
    OPERATORS.iter().chain(ARITHMETIC).filter(move |version| version.name == name)
}

pub(super) fn is_known(name: &str) -> bool {
    versions(name).next().is_some()
}

pub(super) fn names() -> String {
    let mut names: Vec<&str> = OPERATORS.iter().map(|version| version.name).collect();
    // Operators with graphs are not in the table.
    names.extend(HOLDERS);
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The list in an input of type i64.
fn list(input: usize) -> Integers {
    Integers::Input { input, types: IntegerTypes::I64 }
}

fn concat(node: &mut OperatorNode) -> Checked<Operator> {
    if node.inputs.is_empty() {
        return wrong!("it has no inputs");
    }
    if let Some(number) = node.inputs.iter().position(Option::is_none) {
        return wrong!("input {number} is missing");
    }
    let axis = match node.attributes.int("axis")? {
        Some(axis) => axis,
        None if node.opset < 4 => 1,
        None => return Err(missing("axis")),
    };
    Ok(Operator::Concat { axis })
}

fn constant(node: &mut OperatorNode) -> Checked<Operator> {
    Ok(Operator::Constant(node.tensors.value(&mut node.attributes, node.opset)?))
}

fn depth_to_space(node: &mut OperatorNode) -> Checked<Operator> {
    let (block, order) = blocks(node, 11)?;
    Ok(Operator::DepthToSpace { block, order })
}

fn space_to_depth(node: &mut OperatorNode) -> Checked<Operator> {
    let (block, order) = blocks(node, 28)?;
    Ok(Operator::SpaceToDepth { block, order })
}

/// Reads the block size and the block order, which is the attribute `mode` since opset `mode_since`.
fn blocks(node: &mut OperatorNode, mode_since: i64) -> Checked<(usize, BlockOrder)> {
    let side = node.attributes.int("blocksize")?.ok_or_else(|| missing("blocksize"))?;
    let mode = if node.opset < mode_since { None } else { node.attributes.text("mode")? };
    let order = match mode {
        None | Some("DCR") => BlockOrder::BlocksFirst,
        Some("CRD") => BlockOrder::DepthFirst,
        Some(mode) => return wrong!("mode is {mode:?}, expected \"DCR\" or \"CRD\""),
    };
    match usize::try_from(side) {
        Ok(block) if block > 0 => Ok((block, order)),
        _ => wrong!("blocksize is {side}, expected 1 or more"),
    }
}

/// At inference, Dropout copies the data; in training it computes and is refused.
fn dropout(node: &mut OperatorNode) -> Checked<Operator> {
    node.attributes.float("ratio")?;
    let trains = match node.opset {
        ..7 => {
            node.attributes.ignore("consumed_inputs");
            node.attributes.int("is_test")?.unwrap_or(0) == 0
        }
        7..12 => false,
        _ => {
            node.attributes.int("seed")?;
            false
        }
    };
    if trains {
        return unsupported!("only Dropout at inference is supported: this node may be training");
    }
    match node.outputs {
        1 => {}
        2 if node.opset >= 12 => {}
        // Before opset 12, the mask's values and type are undefined.
        2 => return unsupported!("the mask of Dropout is supported from opset 12 on"),
        outputs => return wrong!("it lists {outputs} outputs, but produces one or two"),
    }
    let training = node.optional_list(2, IntegerTypes::Mask);
    Ok(Operator::Dropout { ratio: node.has(1).then_some(1), training })
}

fn center_crop_pad(node: &mut OperatorNode) -> Checked<Operator> {
    let sizes = Integers::Input { input: 1, types: IntegerTypes::I32OrI64 };
    Ok(Operator::CenterCropPad { sizes, axes: node.given("axes")? })
}

fn constant_of_shape(node: &mut OperatorNode) -> Checked<Operator> {
    let value = match node.attributes.tensor("value")? {
        Some(tensor) => node.tensors.tensor(tensor, "its value")?,
        None => Constant::of(DType::F32, Shape::default(), vec![0; 4]),
    };
    Ok(Operator::Filled { sizes: list(0), value })
}

/// Since opset 27, `stash_type` names the type in which 16-bit elements are computed.
fn range(node: &mut OperatorNode) -> Checked<Operator> {
    let stash = if node.opset < 27 { None } else { node.attributes.int("stash_type")? };
    let single = match stash {
        None | Some(1) => true,
        Some(11) => false,
        Some(other) => return wrong!("stash_type is {other}, expected 1 (FLOAT) or 11 (DOUBLE)"),
    };
    Ok(Operator::Range { element: None, single })
}

fn shape(node: &mut OperatorNode) -> Checked<Operator> {
    let (start, end) = match node.opset {
        ..15 => (None, None),
        _ => (node.attributes.int("start")?, node.attributes.int("end")?),
    };
    Ok(Operator::Shape { start: start.unwrap_or(0), end, element: DType::I64 })
}

/// Supported only if it permutes the axes of one tensor.
fn einsum(node: &mut OperatorNode) -> Checked<Operator> {
    let equation = node.attributes.text("equation")?.ok_or_else(|| missing("equation"))?;
    match order_of(equation) {
        Some(order) if node.inputs.len() == 1 && node.has(0) => {
            Ok(Operator::Transpose { order: Integers::Given(order) })
        }
        _ => unsupported!("equation {equation:?} computes, but trundle only moves elements"),
    }
}

/// The axis order, if each letter occurs exactly once on each side.
pub(super) fn order_of(equation: &str) -> Option<Vec<i64>> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (from, to) = equation.split_once("->")?;
    let is_axis = |c: char| c.is_ascii_alphabetic();
    let once = |side: &str| side.chars().all(|c| is_axis(c) && side.matches(c).count() == 1);
    if from.is_empty() || from.len() != to.len() || !once(from) || !once(to) {
        return None;
    }
    to.chars().map(|axis| i64::try_from(from.find(axis)?).ok()).collect()
}

/// Uses only the shape and the element type of its input.
fn eye_like(node: &mut OperatorNode) -> Checked<Operator> {
    let element = match node.attributes.int("dtype")? {
        None => None,
        Some(number) => match element_type(i32::try_from(number).unwrap_or(-1), "its dtype")?.1 {
            ElementType::Fixed(dtype) => Some(dtype),
            ElementType::String => return wrong!("its dtype is string"),
        },
    };
    let diagonal = Integers::Given(vec![node.attributes.int("k")?.unwrap_or(0)]);
    Ok(Operator::Eye { sizes: EyeSizes::OfData, diagonal, element })
}

fn trilu(node: &mut OperatorNode) -> Checked<Operator> {
    let is_upper = node.attributes.int("upper")?.unwrap_or(1) != 0;
    Ok(Operator::Trilu { diagonal: node.optional_list(1, IntegerTypes::I64), is_upper })
}

fn expand(_: &mut OperatorNode) -> Checked<Operator> {
    Ok(Operator::Broadcast { sizes: list(1), rule: BroadcastRule::BothWays })
}

/// The mode of a Pad that repeats elements; `None` for constant padding. As in numpy, which the specification refers
/// to, the padding may be larger than the data.
fn pad_elements(node: &mut OperatorNode) -> Checked<Option<PadMode>> {
    let mode = match node.attributes.text("mode")? {
        None | Some("constant") => return Ok(None),
        Some("edge") => PadMode::Edge,
        Some("reflect") => PadMode::Reflect,
        Some("wrap") if node.opset >= 19 => PadMode::Wrap,
        Some(mode) => return wrong!("mode {mode:?} is none of opset {}", node.opset),
    };
    Ok(Some(mode))
}

fn pad(node: &mut OperatorNode) -> Checked<Operator> {
    let elements = pad_elements(node)?;
    let axes = node.optional_list(3, IntegerTypes::I32OrI64);
    let pads = Pads::Both(list(1));
    if let Some(mode) = elements {
        return Ok(Operator::PadElements { pads, axes, mode, once: false });
    }
    let value = node.has(2).then_some(PadValue::Input(2));
    Ok(Operator::Pad { pads, axes, value })
}

/// In opsets 1 and 2, the value is a float, whatever the element type is.
fn pad_by_attributes(node: &mut OperatorNode) -> Checked<Operator> {
    let elements = pad_elements(node)?;
    let pads = Pads::Both(node.required(if node.opset < 2 { "paddings" } else { "pads" })?);
    // The default is positive zero, whose bits are all 0. The operator has the same default.
    let bits = node.attributes.float("value")?.filter(|bits| *bits != 0);
    let value = bits.map(|bits| PadValue::Float(f32::from_bits(bits)));
    Ok(match elements {
        Some(mode) => Operator::PadElements { pads, axes: None, mode, once: false },
        None => Operator::Pad { pads, axes: None, value },
    })
}

fn reshape_by_attribute(node: &mut OperatorNode) -> Checked<Operator> {
    node.attributes.ignore("consumed_inputs");
    Ok(Operator::Reshape { sizes: node.required("shape")?, zero: ZeroSize::Copies })
}

fn reshape(node: &mut OperatorNode) -> Checked<Operator> {
    let allow_zero = if node.opset < 14 { None } else { node.attributes.int("allowzero")? };
    let zero = if allow_zero.unwrap_or(0) == 0 { ZeroSize::Copies } else { ZeroSize::Zero };
    Ok(Operator::Reshape { sizes: list(1), zero })
}

fn gather(node: &mut OperatorNode) -> Checked<Operator> {
    let axis = Integers::Given(vec![node.axis(0)?]);
    Ok(Operator::Gather { axis, batch_axes: 0, rule: IndexRule::CountsBack })
}

fn gather_elements(node: &mut OperatorNode) -> Checked<Operator> {
    Ok(Operator::GatherElements { axis: node.axis(0)? })
}

fn gather_nd(node: &mut OperatorNode) -> Checked<Operator> {
    let batch = if node.opset < 12 { None } else { node.attributes.int("batch_dims")? };
    let batch = batch.unwrap_or(0);
    let batch_axes = usize::try_from(batch)
        .map_err(|_| format!("batch_dims may not be negative, got {batch}"))?;
    Ok(Operator::GatherNd { batch_axes, merges_batch: false })
}

fn scatter_elements(node: &mut OperatorNode) -> Checked<Operator> {
    no_reduction(node, 16)?;
    let axis = Integers::Given(vec![node.axis(0)?]);
    Ok(Operator::ScatterElements { axis, counts_back: true })
}

fn scatter_withdrawn(_: &mut OperatorNode) -> Checked<Operator> {
    wrong!("opset 11 removed it: use ScatterElements")
}

fn scatter_nd(node: &mut OperatorNode) -> Checked<Operator> {
    no_reduction(node, 16)?;
    Ok(Operator::ScatterNd)
}

/// Refuses reductions, such as adding updates, because they compute. The attribute exists since opset `since`.
fn no_reduction(node: &mut OperatorNode, since: i64) -> Checked<()> {
    let reduction = if node.opset < since { None } else { node.attributes.text("reduction")? };
    match reduction {
        None | Some("none") => Ok(()),
        Some(other) => {
            unsupported!("reduction {other:?} computes, but trundle only moves elements")
        }
    }
}

fn tensor_scatter(node: &mut OperatorNode) -> Checked<Operator> {
    let axis = node.axis(-2)?;
    let is_circular = match node.attributes.text("mode")? {
        None | Some("linear") => false,
        Some("circular") => true,
        Some(other) => return wrong!("mode {other:?} is neither linear nor circular"),
    };
    Ok(Operator::TensorScatter { axis, is_circular })
}

fn reverse_sequence(node: &mut OperatorNode) -> Checked<Operator> {
    let batch_axis = node.attributes.int("batch_axis")?.unwrap_or(1);
    let sequence_axis = node.attributes.int("time_axis")?.unwrap_or(0);
    if !matches!((batch_axis, sequence_axis), (0, 1) | (1, 0)) {
        return wrong!(
            "batch_axis is {batch_axis} and time_axis {sequence_axis}, expected 0 and 1 or 1 and 0"
        );
    }
    Ok(Operator::ReverseSequence { lengths: list(1), batch_axis, sequence_axis })
}

fn slice(node: &mut OperatorNode) -> Checked<Operator> {
    let types = IntegerTypes::I32OrI64;
    Ok(Operator::Slice {
        starts: Integers::Input { input: 1, types },
        stops: Integers::Input { input: 2, types },
        axes: node.optional_list(3, types),
        steps: node.optional_list(4, types),
    })
}

/// Slice before opset 10. Without `axes`, it slices the first axes, as many as `starts` has entries.
fn slice_by_attributes(node: &mut OperatorNode) -> Checked<Operator> {
    let starts = node.attributes.ints("starts")?.ok_or_else(|| missing("starts"))?;
    let stops = node.required("ends")?;
    let axes = match node.given("axes")? {
        Some(axes) => axes,
        None => Integers::Given((0..).zip(starts).map(|(axis, _)| axis).collect()),
    };
    let starts = Integers::Given(starts.to_vec());
    Ok(Operator::Slice { starts, stops, axes: Some(axes), steps: None })
}

fn split(node: &mut OperatorNode) -> Checked<Operator> {
    if node.outputs == 0 {
        return wrong!("it has no outputs");
    }
    let axis = Integers::Given(vec![node.axis(0)?]);
    let by_attribute = if node.opset < 13 { node.attributes.ints("split")? } else { None };
    // In opset 1, the sizes have the data's type, a float.
    let types = if node.opset == 1 { IntegerTypes::Numbers } else { IntegerTypes::I64 };
    let count = if node.opset < 18 { None } else { node.attributes.int("num_outputs")? };
    let parts = match (by_attribute, node.optional_list(1, types), count) {
        (Some(sizes), None, None) => {
            if let Some(size) = sizes.iter().find(|size| **size < 0) {
                return wrong!("split has {size}, expected sizes of 0 or more");
            }
            Parts::Sizes(Integers::Given(sizes.to_vec()))
        }
        (None, Some(sizes), None) => Parts::Sizes(sizes),
        (None, None, Some(count)) => {
            if usize::try_from(count) != Ok(node.outputs) {
                let outputs = node.outputs;
                return wrong!("num_outputs is {count}, and it has {outputs} outputs");
            }
            Parts::LastSmaller
        }
        // Opset 18 requires one of the two, but runtimes accept neither, too.
        (None, None, None) => Parts::Equal,
        _ => return wrong!("it states the sizes of its parts twice"),
    };
    Ok(Operator::Split { axis, parts })
}

fn squeeze_by_attribute(node: &mut OperatorNode) -> Checked<Operator> {
    Ok(Operator::Squeeze { axes: node.given("axes")?, keeps_others: false })
}

fn squeeze(node: &mut OperatorNode) -> Checked<Operator> {
    let axes = node.optional_list(1, IntegerTypes::I64);
    Ok(Operator::Squeeze { axes, keeps_others: false })
}

/// Before opset 6, `tiles` and `axis` have the data's type, which may be a float.
fn tile_axis(_: &mut OperatorNode) -> Checked<Operator> {
    let number = |input| Integers::Input { input, types: IntegerTypes::Numbers };
    Ok(Operator::TileAxis { repeats: number(1), axis: number(2) })
}

fn transpose(node: &mut OperatorNode) -> Checked<Operator> {
    let order = node.given("perm")?.unwrap_or_else(|| Integers::Given(Vec::new()));
    Ok(Operator::Transpose { order })
}

fn unsqueeze_by_attribute(node: &mut OperatorNode) -> Checked<Operator> {
    Ok(Operator::Unsqueeze { axes: node.required("axes")? })
}
