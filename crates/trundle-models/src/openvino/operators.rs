//! The operators that layers become.
//!
//! The meanings, defaults and inputs follow the specification of OpenVINO's operation sets.

use std::ops::RangeInclusive;

use trundle_core::DType;
use trundle_core::ops::PadMode;

use super::arithmetic::ARITHMETIC;
use super::element;
use super::interpolate::{interpolate, mode_that_computes};
use super::layer::Layer;
use super::wiring::Wiring;
use crate::arithmetic::Arithmetic;
use crate::order;
use crate::problem::{Checked, unsupported, wrong};
use crate::survey::{Survey, Why, depends};
use crate::{
    BlockOrder, BroadcastRule, ElementType, EyeSizes, IndexRule, IntegerTypes, Integers, Operator,
    PadValue, Pads, Parts, PatchPadding, Result, StridedSliceMasks, ZeroSize,
};

/// What is known about a layer's input before the model runs.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// `None` in documentation, which does not state it.
    pub(super) element: Option<ElementType>,
    /// Whether it is a Const layer.
    pub(super) constant: bool,
}

pub(super) struct LayerType {
    pub(super) name: &'static str,
    /// The first operation set with this layer.
    pub(super) since: u32,
    /// Allowed numbers of inputs and outputs.
    pub(super) inputs: RangeInclusive<usize>,
    pub(super) outputs: RangeInclusive<usize>,
    pub(super) role: Role,
}

#[derive(Clone, Copy)]
pub(super) enum Role {
    Parameter,
    Result,
    Constant,
    Operator(Make),
}

pub(super) type Make = fn(&Layer, &[Operand]) -> Checked<Operator>;

const ANY: RangeInclusive<usize> = 1..=usize::MAX;

/// A type of layer that has one output.
pub(super) const fn kind(
    name: &'static str,
    since: u32,
    inputs: RangeInclusive<usize>,
    make: Make,
) -> LayerType {
    LayerType { name, since, inputs, outputs: 1..=1, role: Role::Operator(make) }
}

/// Sorted by name.
const KINDS: [LayerType; 38] = [
    kind("BatchToSpace", 2, 4..=4, batch_to_space),
    kind("Broadcast", 1, 2..=3, broadcast),
    kind("Concat", 1, ANY, |layer, _| {
        Ok(Operator::Concat { axis: layer.required_number("axis")? })
    }),
    LayerType { name: "Const", since: 1, inputs: 0..=0, outputs: 1..=1, role: Role::Constant },
    LayerType { name: "Constant", since: 1, inputs: 0..=0, outputs: 1..=1, role: Role::Constant },
    kind("Convert", 1, 1..=1, convert),
    kind("DepthToSpace", 1, 1..=1, depth_to_space),
    kind("ExtractImagePatches", 3, 1..=1, patches),
    kind("Eye", 9, 3..=4, eye),
    kind("Gather", 1, 3..=3, gather),
    kind("GatherElements", 6, 2..=2, gather_elements),
    kind("GatherND", 5, 2..=2, gather_nd),
    kind("Identity", 16, 1..=1, |_, _| Ok(Operator::Identity)),
    kind("Interpolate", 1, 2..=4, interpolate),
    kind("Pad", 1, 3..=4, pad),
    LayerType { name: "Parameter", since: 1, inputs: 0..=0, outputs: 1..=1, role: Role::Parameter },
    kind("Range", 1, 3..=3, range),
    kind("Reshape", 1, 2..=2, reshape),
    LayerType { name: "Result", since: 1, inputs: 1..=1, outputs: 0..=1, role: Role::Result },
    kind("Reverse", 1, 2..=2, reverse),
    kind("ReverseSequence", 1, 2..=2, reverse_sequence),
    kind("Roll", 7, 3..=3, roll),
    kind("ScatterElementsUpdate", 3, 4..=4, scatter_elements),
    kind("ScatterNDUpdate", 3, 3..=3, scatter_nd),
    kind("ScatterUpdate", 3, 4..=4, |_, _| Ok(Operator::ScatterUpdate { axis: integers(3) })),
    kind("ShapeOf", 1, 1..=1, shape_of),
    kind("ShuffleChannels", 1, 1..=1, shuffle_channels),
    kind("Slice", 8, 4..=5, slice),
    kind("SliceScatter", 15, 5..=6, slice_scatter),
    kind("SpaceToBatch", 2, 4..=4, space_to_batch),
    kind("SpaceToDepth", 1, 1..=1, space_to_depth),
    LayerType { outputs: ANY, ..kind("Split", 1, 2..=2, split) },
    kind("Squeeze", 1, 1..=2, squeeze),
    kind("StridedSlice", 1, 3..=4, strided_slice),
    kind("Tile", 1, 2..=2, |_, _| Ok(Operator::Tile { repeats: integers(1) })),
    kind("Transpose", 1, 2..=2, |_, _| Ok(Operator::Transpose { order: integers(1) })),
    kind("Unsqueeze", 1, 2..=2, |_, _| Ok(Operator::Unsqueeze { axes: integers(1) })),
    LayerType { outputs: ANY, ..kind("VariadicSplit", 1, 3..=3, variadic_split) },
];

fn all_kinds() -> impl Iterator<Item = &'static LayerType> {
    KINDS.iter().chain(&ARITHMETIC)
}

/// Supported not at all, or only in some forms.
const MOVES: [&str; 2] = ["GatherTree", "Unique"];

const SHAPES: [&str; 1] = ["NonZero"];

const HOLDS: [&str; 3] = ["If", "Loop", "TensorIterator"];

/// Refuses a file with layers of unsupported types, and names all of them. With `wiring`, it also names arithmetic on
/// elements of inputs.
pub(super) fn refuse(layers: &[Layer], wiring: Option<&Wiring>) -> Result<()> {
    let mut survey = Survey::default();
    for layer in layers {
        let name = layer.kind;
        if let Some(mode) = mode_that_computes(layer) {
            let name = format!("{name} in mode {}", mode.escape_debug());
            survey.add(Why::Computes, name, || layer.description());
            continue;
        }
        if all_kinds().any(|kind| kind.name == name) {
            continue;
        }
        let why = match name {
            _ if MOVES.contains(&name) => Why::Moves,
            _ if SHAPES.contains(&name) => Why::Shapes,
            _ if HOLDS.contains(&name) => Why::Holds,
            _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => Why::Computes,
            _ => Why::Unknown,
        };
        survey.add(why, name.escape_debug().to_string(), || layer.description());
    }
    if let Some(wiring) = wiring.filter(|_| !survey.is_empty()) {
        add_arithmetic(layers, wiring, &mut survey);
    }
    survey.finish(&KINDS.map(|kind| kind.name).join(", "))
}

/// Adds arithmetic on elements of the model's inputs.
fn add_arithmetic(layers: &[Layer], wiring: &Wiring, survey: &mut Survey) {
    let reads = |at: usize| wiring.of(at).iter().map(|tap| tap.layer);
    let Ok(order) = order::sorted(layers.len(), reads, |_| String::new()) else { return };
    let inputs = (0..layers.len()).filter(|at| layers[*at].kind == "Parameter");
    let mut dependents = inputs.collect();
    for at in order {
        let layer = &layers[at];
        if layer.kind != "ShapeOf"
            && depends(&mut dependents, reads(at), [at])
            && ARITHMETIC.iter().any(|kind| kind.name == layer.kind)
        {
            survey.add(Why::Computes, layer.kind.to_owned(), || layer.description());
        }
    }
}

impl LayerType {
    /// Refuses a layer whose type, version or number of ports is not supported.
    pub(super) fn of(layer: &Layer) -> Checked<&'static LayerType> {
        let Some(kind) = all_kinds().find(|kind| kind.name == layer.kind) else {
            let known = KINDS.map(|kind| kind.name).join(", ");
            let kind = layer.kind.escape_debug();
            return unsupported!("{kind} is not supported; supported: {known}");
        };
        if let Some(opset) = layer.opset()?.filter(|opset| *opset < kind.since) {
            let since = format!("{} is there from opset{} on", kind.name, kind.since);
            return unsupported!("opset{opset} does not have it; {since}");
        }
        kind.check("inputs", layer.inputs.len(), &kind.inputs)?;
        kind.check("outputs", layer.outputs.len(), &kind.outputs)?;
        Ok(kind)
    }

    fn check(&self, what: &str, count: usize, allowed: &RangeInclusive<usize>) -> Checked<()> {
        if allowed.contains(&count) {
            return Ok(());
        }
        let allowed = match (*allowed.start(), *allowed.end()) {
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) if least == most => format!("{least}"),
            (least, most) => format!("{least} to {most}"),
        };
        wrong!("it has {count} {what}; {} has {allowed}", self.name)
    }
}

/// A list in an input of any integer type.
pub(super) fn integers(input: usize) -> Integers {
    Integers::Input { input, types: IntegerTypes::Integers }
}

/// The list in an input, if the layer has that input.
pub(super) fn optional_integers(layer: &Layer, input: usize) -> Option<Integers> {
    (input < layer.inputs.len()).then(|| integers(input))
}

/// Convert moves elements if the type stays the same, or if it decompresses a constant. Otherwise it is arithmetic.
fn convert(layer: &Layer, operands: &[Operand]) -> Checked<Operator> {
    let name = layer.required("destination_type")?;
    let to = element::parse(name)?;
    let &[Operand { element: Some(from), constant }] = operands else {
        return unsupported!("the type that it converts from is not stated");
    };
    match (from, to) {
        (from, to) if from == to => Ok(Operator::Identity),
        (ElementType::Fixed(from), ElementType::Fixed(to))
            if constant && layer.is_marked("decompression") && widens(from, to) =>
        {
            Ok(Operator::Widen(to))
        }
        (ElementType::Fixed(_), ElementType::Fixed(to)) => {
            Ok(Operator::Arithmetic(Arithmetic::Cast(to)))
        }
        _ => unsupported!("Convert from {from} to {to} computes"),
    }
}

fn widens(from: DType, to: DType) -> bool {
    use DType::{BF16, F16, F32, F64};
    matches!((from, to), (F16 | BF16, F32 | F64) | (F32, F64))
}

fn depth_to_space(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::DepthToSpace { block: block(layer)?, order: block_order(layer)? })
}

fn space_to_depth(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::SpaceToDepth { block: block(layer)?, order: block_order(layer)? })
}

fn block(layer: &Layer) -> Checked<usize> {
    match layer.number("block_size", 1)? {
        0 => wrong!("block_size is 0; it must be at least 1"),
        block => Ok(block),
    }
}

fn block_order(layer: &Layer) -> Checked<BlockOrder> {
    match layer.required("mode")? {
        "blocks_first" => Ok(BlockOrder::BlocksFirst),
        "depth_first" => Ok(BlockOrder::DepthFirst),
        mode => wrong!("mode {mode:?} is neither blocks_first nor depth_first"),
    }
}

fn pads(begins: usize) -> Pads {
    Pads::Each { begins: integers(begins), ends: integers(begins + 1) }
}

fn batch_to_space(_: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::BatchToSpace { block: integers(1), crops: pads(2) })
}

fn space_to_batch(_: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::SpaceToBatch { block: integers(1), pads: pads(2) })
}

fn shape_of(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let output = layer.attribute("output_type").filter(|_| !matches!(layer.opset(), Ok(Some(..3))));
    let element = match output.unwrap_or("i64") {
        "i64" => DType::I64,
        "i32" => DType::I32,
        name => return wrong!("output_type {name:?} is neither i32 nor i64"),
    };
    Ok(Operator::Shape { start: 0, end: None, element })
}

/// Since operation set 4, Range states its element type.
fn range(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let element = match layer.opset()? {
        Some(..4) => None,
        _ => Some(output_type(layer)?),
    };
    Ok(Operator::Range { element, single: false })
}

/// The numeric type of the output.
fn output_type(layer: &Layer) -> Checked<DType> {
    let name = layer.required("output_type")?;
    match element::parse(name)? {
        ElementType::Fixed(dtype) => Ok(dtype),
        ElementType::String => wrong!("output_type {name:?} is not a numeric type"),
    }
}

/// Eye has no data input.
fn eye(layer: &Layer, operands: &[Operand]) -> Checked<Operator> {
    let list = |input| Integers::Input { input, types: IntegerTypes::I32OrI64 };
    let batch = (operands.len() > 3).then(|| list(3));
    Ok(Operator::Eye {
        sizes: EyeSizes::Given { rows: list(0), columns: list(1), batch },
        diagonal: list(2),
        element: Some(output_type(layer)?),
    })
}

fn pad(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let mode = match layer.required("pad_mode")? {
        "constant" => {
            let value = (layer.inputs.len() > 3).then_some(PadValue::Input(3));
            return Ok(Operator::Pad { pads: pads(1), axes: None, value });
        }
        "edge" => PadMode::Edge,
        "reflect" => PadMode::Reflect,
        "symmetric" => PadMode::Symmetric,
        mode => return wrong!("pad_mode {mode:?} is none of its modes"),
    };
    Ok(Operator::PadElements { pads: pads(1), axes: None, mode, once: true })
}

fn broadcast(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let mapping = layer.inputs.len() > 2;
    let rule = match layer.attribute("mode").unwrap_or("numpy") {
        "numpy" => BroadcastRule::ToSizes,
        "bidirectional" => BroadcastRule::BothWays,
        // "none" is what OpenVINO writes for a Broadcast-1 in mode explicit.
        "explicit" | "none" if mapping => BroadcastRule::Mapped(integers(2)),
        "explicit" | "none" => return wrong!("mode is explicit, and axes_mapping is missing"),
        mode => return wrong!("mode {mode:?} is none of its modes"),
    };
    Ok(Operator::Broadcast { sizes: integers(1), rule })
}

fn reshape(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    layer.required("special_zero")?;
    let zero = if layer.truth("special_zero", false)? { ZeroSize::Copies } else { ZeroSize::Zero };
    Ok(Operator::Reshape { sizes: integers(1), zero })
}

fn reverse(layer: &Layer, operands: &[Operand]) -> Checked<Operator> {
    match layer.required("mode")? {
        "index" => Ok(Operator::Flip { axes: integers(1) }),
        "mask" => {
            let element = operands.get(1).and_then(|operand| operand.element);
            let is_mask = |element| element == ElementType::Fixed(DType::Boolean);
            if let Some(element) = element.filter(|element| !is_mask(*element)) {
                return wrong!("its mask is {element}, not boolean");
            }
            let mask = Integers::Input { input: 1, types: IntegerTypes::Mask };
            Ok(Operator::FlipMask { mask })
        }
        mode => wrong!("mode {mode:?} is neither index nor mask"),
    }
}

fn gather(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    // batch_dims exists since version 7. Since version 8, indices may be out of bounds.
    let version = layer.opset()?.unwrap_or(8);
    let batch_axes = if version < 7 { 0 } else { layer.number("batch_dims", 0)? };
    let rule = if version < 8 { IndexRule::Within } else { IndexRule::ZeroOutside };
    Ok(Operator::Gather { axis: integers(2), batch_axes, rule })
}

fn gather_elements(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::GatherElements { axis: layer.required_number("axis")? })
}

fn gather_nd(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let batch_axes = layer.number("batch_dims", 0)?;
    Ok(Operator::GatherNd { batch_axes, merges_batch: layer.opset()?.unwrap_or(8) < 8 })
}

fn scatter_elements(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let counts_back = no_reduction(layer, 12)?;
    Ok(Operator::ScatterElements { axis: integers(3), counts_back })
}

fn scatter_nd(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    no_reduction(layer, 15)?;
    Ok(Operator::ScatterNd)
}

fn slice_scatter(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::SliceScatter {
        starts: integers(2),
        stops: integers(3),
        steps: Some(integers(4)),
        axes: optional_integers(layer, 5),
    })
}

/// Refuses reductions, such as adding updates, because they compute. Returns whether the attribute applies: OpenVINO
/// ignores it before operation set `since`.
fn no_reduction(layer: &Layer, since: u32) -> Checked<bool> {
    let is_read = layer.opset()?.is_none_or(|opset| opset >= since);
    match layer.attribute("reduction").filter(|_| is_read) {
        None | Some("none") => Ok(is_read),
        Some(other) => {
            unsupported!("reduction {other:?} computes, but trundle only moves elements")
        }
    }
}

fn patches(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let pair = |name: &str| {
        let numbers = layer.numbers(name)?;
        let sizes = numbers.iter().map(|number| usize::try_from(*number).ok().filter(|n| *n > 0));
        match sizes.collect::<Option<Vec<usize>>>().as_deref() {
            Some([height, width]) => Ok([*height, *width]),
            _ => wrong!("{name} must be two numbers over 0, got {numbers:?}"),
        }
    };
    let padding = match layer.required("auto_pad")? {
        "valid" => PatchPadding::Valid,
        "same_upper" => PatchPadding::SameUpper,
        "same_lower" => PatchPadding::SameLower,
        other => return wrong!("auto_pad {other:?} is none of valid, same_upper, same_lower"),
    };
    let (sizes, strides, rates) = (pair("sizes")?, pair("strides")?, pair("rates")?);
    Ok(Operator::Patches { sizes, strides, rates, padding })
}

fn reverse_sequence(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::ReverseSequence {
        lengths: Integers::Input { input: 1, types: IntegerTypes::Numbers },
        batch_axis: layer.number("batch_axis", 0)?,
        sequence_axis: layer.number("seq_axis", 1)?,
    })
}

fn roll(_: &Layer, _: &[Operand]) -> Checked<Operator> {
    let types = IntegerTypes::I32OrI64;
    Ok(Operator::Roll {
        shift: Integers::Input { input: 1, types },
        axes: Integers::Input { input: 2, types },
    })
}

fn shuffle_channels(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    match layer.number("group", 1)? {
        0 => wrong!("group is 0; it must be at least 1"),
        groups => Ok(Operator::ShuffleChannels { axis: layer.number("axis", 1)?, groups }),
    }
}

fn slice(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::Slice {
        starts: integers(1),
        stops: integers(2),
        steps: Some(integers(3)),
        axes: optional_integers(layer, 4),
    })
}

fn split(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let (parts, outputs) = (layer.required_number::<usize>("num_splits")?, layer.outputs.len());
    if parts != outputs {
        return wrong!("num_splits is {parts}, but it has {outputs} outputs");
    }
    Ok(Operator::Split { axis: integers(1), parts: Parts::Equal })
}

fn squeeze(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    // OpenVINO ignores `allow_axis_skip` before operation set 15.
    let keeps_others =
        !matches!(layer.opset(), Ok(Some(..15))) && layer.truth("allow_axis_skip", false)?;
    Ok(Operator::Squeeze { axes: optional_integers(layer, 1), keeps_others })
}

fn strided_slice(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::StridedSlice {
        begin: integers(1),
        end: integers(2),
        strides: optional_integers(layer, 3),
        masks: StridedSliceMasks {
            begin: layer.numbers("begin_mask")?,
            end: layer.numbers("end_mask")?,
            new_axis: layer.numbers("new_axis_mask")?,
            shrink_axis: layer.numbers("shrink_axis_mask")?,
            ellipsis: layer.numbers("ellipsis_mask")?,
        },
    })
}

fn variadic_split(_: &Layer, _: &[Operand]) -> Checked<Operator> {
    Ok(Operator::Split { axis: integers(1), parts: Parts::Sizes(integers(2)) })
}
