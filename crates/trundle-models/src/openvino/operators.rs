//! The table of layers, with the operator that each becomes.
//!
//! Meanings, defaults and inputs follow the specification of OpenVINO's operation sets.

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
use crate::survey::{Dependents, Survey, Why};
use crate::{
    BlockOrder, BroadcastRule, ElementType, EyeSizes, IndexRule, IntegerTypes, Integers, Operator,
    PadValue, Pads, Parts, PatchPadding, Result, StridedSliceMasks, ZeroSize,
};

/// Facts about a layer's input that are known before the model runs.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// The element type; unknown in documentation.
    pub(super) element: Option<ElementType>,
    /// Whether the input is a Const layer.
    pub(super) constant: bool,
}

/// A type of layer.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The first operation set that has it.
    pub(super) since: u32,
    /// The allowed numbers of inputs and of outputs.
    pub(super) inputs: RangeInclusive<usize>,
    pub(super) outputs: RangeInclusive<usize>,
    pub(super) role: Role,
}

#[derive(Clone, Copy)]
pub(super) enum Role {
    /// An input of the model.
    Parameter,
    /// An output of the model.
    Result,
    /// A constant of the file.
    Constant,
    Operator(Make),
}

/// Builds the operator of a layer, given its inputs.
pub(super) type Make = fn(&Layer, &[Operand]) -> Result<Operator>;

use Role::Operator as Op;

const ANY: RangeInclusive<usize> = 1..=usize::MAX;

#[rustfmt::skip]
const KINDS: [Kind; 38] = [
    Kind { name: "BatchToSpace",    since: 2,  inputs: 4..=4, outputs: 1..=1, role: Op(batch_to_space) },
    Kind { name: "Broadcast",       since: 1,  inputs: 2..=3, outputs: 1..=1, role: Op(broadcast) },
    Kind { name: "Concat",          since: 1,  inputs: ANY,   outputs: 1..=1, role: Op(concat) },
    Kind { name: "Const",           since: 1,  inputs: 0..=0, outputs: 1..=1, role: Role::Constant },
    Kind { name: "Constant",        since: 1,  inputs: 0..=0, outputs: 1..=1, role: Role::Constant },
    Kind { name: "Convert",         since: 1,  inputs: 1..=1, outputs: 1..=1, role: Op(convert) },
    Kind { name: "DepthToSpace",    since: 1,  inputs: 1..=1, outputs: 1..=1, role: Op(depth_to_space) },
    Kind { name: "ExtractImagePatches", since: 3, inputs: 1..=1, outputs: 1..=1, role: Op(patches) },
    Kind { name: "Eye",             since: 9,  inputs: 3..=4, outputs: 1..=1, role: Op(eye) },
    Kind { name: "Gather",          since: 1,  inputs: 3..=3, outputs: 1..=1, role: Op(gather) },
    Kind { name: "GatherElements",  since: 6,  inputs: 2..=2, outputs: 1..=1, role: Op(gather_elements) },
    Kind { name: "GatherND",        since: 5,  inputs: 2..=2, outputs: 1..=1, role: Op(gather_nd) },
    Kind { name: "Identity",        since: 16, inputs: 1..=1, outputs: 1..=1, role: Op(identity) },
    Kind { name: "Interpolate",     since: 1,  inputs: 2..=4, outputs: 1..=1, role: Op(interpolate) },
    Kind { name: "Pad",             since: 1,  inputs: 3..=4, outputs: 1..=1, role: Op(pad) },
    Kind { name: "Parameter",       since: 1,  inputs: 0..=0, outputs: 1..=1, role: Role::Parameter },
    Kind { name: "Range",           since: 1,  inputs: 3..=3, outputs: 1..=1, role: Op(range) },
    Kind { name: "Reshape",         since: 1,  inputs: 2..=2, outputs: 1..=1, role: Op(reshape) },
    Kind { name: "Result",          since: 1,  inputs: 1..=1, outputs: 0..=1, role: Role::Result },
    Kind { name: "Reverse",         since: 1,  inputs: 2..=2, outputs: 1..=1, role: Op(reverse) },
    Kind { name: "ReverseSequence", since: 1,  inputs: 2..=2, outputs: 1..=1, role: Op(reverse_sequence) },
    Kind { name: "Roll",            since: 7,  inputs: 3..=3, outputs: 1..=1, role: Op(roll) },
    Kind { name: "ScatterElementsUpdate", since: 3, inputs: 4..=4, outputs: 1..=1, role: Op(scatter_elements) },
    Kind { name: "ScatterNDUpdate", since: 3,  inputs: 3..=3, outputs: 1..=1, role: Op(scatter_nd) },
    Kind { name: "ScatterUpdate",   since: 3,  inputs: 4..=4, outputs: 1..=1, role: Op(scatter_update) },
    Kind { name: "ShapeOf",         since: 1,  inputs: 1..=1, outputs: 1..=1, role: Op(shape_of) },
    Kind { name: "ShuffleChannels", since: 1,  inputs: 1..=1, outputs: 1..=1, role: Op(shuffle_channels) },
    Kind { name: "Slice",           since: 8,  inputs: 4..=5, outputs: 1..=1, role: Op(slice) },
    Kind { name: "SliceScatter",    since: 15, inputs: 5..=6, outputs: 1..=1, role: Op(slice_scatter) },
    Kind { name: "SpaceToBatch",    since: 2,  inputs: 4..=4, outputs: 1..=1, role: Op(space_to_batch) },
    Kind { name: "SpaceToDepth",    since: 1,  inputs: 1..=1, outputs: 1..=1, role: Op(space_to_depth) },
    Kind { name: "Split",           since: 1,  inputs: 2..=2, outputs: ANY,   role: Op(split) },
    Kind { name: "Squeeze",         since: 1,  inputs: 1..=2, outputs: 1..=1, role: Op(squeeze) },
    Kind { name: "StridedSlice",    since: 1,  inputs: 3..=4, outputs: 1..=1, role: Op(strided_slice) },
    Kind { name: "Tile",            since: 1,  inputs: 2..=2, outputs: 1..=1, role: Op(tile) },
    Kind { name: "Transpose",       since: 1,  inputs: 2..=2, outputs: 1..=1, role: Op(transpose) },
    Kind { name: "Unsqueeze",       since: 1,  inputs: 2..=2, outputs: 1..=1, role: Op(unsqueeze) },
    Kind { name: "VariadicSplit",   since: 1,  inputs: 3..=3, outputs: ANY,   role: Op(variadic_split) },
];

fn all_kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(&ARITHMETIC)
}

/// Layers that move elements, but are not supported or not in every form.
const MOVES: [&str; 2] = ["GatherTree", "Unique"];

/// Layers whose output shape depends on elements.
const SHAPES: [&str; 1] = ["NonZero"];

/// Layers that hold graphs.
const HOLDS: [&str; 3] = ["If", "Loop", "TensorIterator"];

/// Refuses a file with layers of unsupported types and names all of them. If the wiring is known, also names the
/// arithmetic that computes.
pub(super) fn refuse(layers: &[Layer], wiring: Option<&Wiring>) -> Result<()> {
    let mut survey = Survey::default();
    for layer in layers {
        let name = layer.kind;
        if let Some(mode) = mode_that_computes(layer) {
            let name = format!("{name} in mode {}", mode.escape_debug());
            survey.add(Why::Computes, name, || layer.place());
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
        survey.add(why, name.escape_debug().to_string(), || layer.place());
    }
    if let Some(wiring) = wiring.filter(|_| !survey.is_empty()) {
        add_arithmetic(layers, wiring, &mut survey);
    }
    survey.finish(&KINDS.map(|kind| kind.name).join(", "))
}

/// Adds the arithmetic on elements of the model's inputs.
fn add_arithmetic(layers: &[Layer], wiring: &Wiring, survey: &mut Survey) {
    let reads = |at: usize| wiring.of(at).iter().map(|tap| tap.layer);
    let Ok(order) = order::sorted(layers.len(), reads, |_| String::new()) else { return };
    let inputs = (0..layers.len()).filter(|at| layers[*at].kind == "Parameter");
    let mut depends = Dependents::of(inputs);
    for at in order {
        let layer = &layers[at];
        if layer.kind != "ShapeOf"
            && depends.follow(reads(at), [at])
            && ARITHMETIC.iter().any(|kind| kind.name == layer.kind)
        {
            survey.add(Why::Computes, layer.kind.to_owned(), || layer.place());
        }
    }
}

impl Kind {
    /// Returns the kind of a layer, unless its type, version or number of ports is not supported.
    pub(super) fn of(layer: &Layer) -> Result<&'static Kind> {
        let kind = all_kinds().find(|kind| kind.name == layer.kind).ok_or_else(|| {
            let known = KINDS.map(|kind| kind.name).join(", ");
            let kind = layer.kind.escape_debug();
            layer.unsupported(format!("{kind} is not supported; what is: {known}"))
        })?;
        if let Some(opset) = layer.opset()?.filter(|opset| *opset < kind.since) {
            let since = format!("{} is there from opset{} on", kind.name, kind.since);
            return Err(layer.unsupported(format!("opset{opset} does not have it; {since}")));
        }
        kind.check(layer, "inputs", layer.inputs.len(), &kind.inputs)?;
        kind.check(layer, "outputs", layer.outputs.len(), &kind.outputs)?;
        Ok(kind)
    }

    fn check(
        &self,
        layer: &Layer,
        what: &str,
        count: usize,
        allowed: &RangeInclusive<usize>,
    ) -> Result<()> {
        if allowed.contains(&count) {
            return Ok(());
        }
        let allowed = match (*allowed.start(), *allowed.end()) {
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) if least == most => format!("{least}"),
            (least, most) => format!("{least} to {most}"),
        };
        Err(layer.malformed(format!("it has {count} {what}; {} has {allowed}", self.name)))
    }
}

/// The list in an input of any integer type.
pub(super) fn integers(input: usize) -> Integers {
    Integers::Input { input, types: IntegerTypes::Integers }
}

/// The list in an input, if the layer has that input.
pub(super) fn optional_integers(layer: &Layer, input: usize) -> Option<Integers> {
    (input < layer.inputs.len()).then(|| integers(input))
}

fn concat(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Concat { axis: layer.required_number("axis")? })
}

/// Convert moves elements if the type stays the same, or if it decompresses a constant. Otherwise it is arithmetic.
fn convert(layer: &Layer, operands: &[Operand]) -> Result<Operator> {
    let name = layer.required("destination_type")?;
    let to = element::parse(name).map_err(|problem| layer.malformed(problem))?;
    let &[Operand { element: Some(from), constant }] = operands else {
        return Err(layer.unsupported("the type that it converts from is not stated"));
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
        _ => Err(layer.unsupported(format!("Convert from {from} to {to} computes"))),
    }
}

fn widens(from: DType, to: DType) -> bool {
    use DType::{BF16, F16, F32, F64};
    matches!((from, to), (F16 | BF16, F32 | F64) | (F32, F64))
}

fn identity(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Identity)
}

fn depth_to_space(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::DepthToSpace { block: block(layer)?, order: block_order(layer)? })
}

fn space_to_depth(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::SpaceToDepth { block: block(layer)?, order: block_order(layer)? })
}

fn block(layer: &Layer) -> Result<usize> {
    match layer.number("block_size", 1)? {
        0 => Err(layer.malformed("block_size is 0; it must be at least 1")),
        block => Ok(block),
    }
}

fn block_order(layer: &Layer) -> Result<BlockOrder> {
    match layer.required("mode")? {
        "blocks_first" => Ok(BlockOrder::BlocksFirst),
        "depth_first" => Ok(BlockOrder::DepthFirst),
        mode => {
            Err(layer.malformed(format!("mode {mode:?} is neither blocks_first nor depth_first")))
        }
    }
}

fn pads(begins: usize) -> Pads {
    Pads::Each { begins: integers(begins), ends: integers(begins + 1) }
}

fn batch_to_space(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::BatchToSpace { block: integers(1), crops: pads(2) })
}

fn space_to_batch(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::SpaceToBatch { block: integers(1), pads: pads(2) })
}

fn shape_of(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let output = layer.attribute("output_type").filter(|_| !matches!(layer.opset(), Ok(Some(..3))));
    let element = match output.unwrap_or("i64") {
        "i64" => DType::I64,
        "i32" => DType::I32,
        name => {
            return Err(layer.malformed(format!("output_type {name:?} is neither i32 nor i64")));
        }
    };
    Ok(Operator::Shape { start: 0, end: None, element })
}

/// Range. Since set 4, it states its own type.
fn range(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let element = match layer.opset()? {
        Some(..4) => None,
        _ => Some(output_type(layer)?),
    };
    Ok(Operator::Range { element, single: false })
}

/// Reads the numeric type that a layer states for its output.
fn output_type(layer: &Layer) -> Result<DType> {
    let name = layer.required("output_type")?;
    match element::parse(name).map_err(|problem| layer.malformed(problem))? {
        ElementType::Fixed(dtype) => Ok(dtype),
        ElementType::String => {
            Err(layer.malformed(format!("output_type {name:?} is no type of numbers")))
        }
    }
}

/// Eye. It has no data input.
fn eye(layer: &Layer, operands: &[Operand]) -> Result<Operator> {
    let list = |input| Integers::Input { input, types: IntegerTypes::I32OrI64 };
    let batch = (operands.len() > 3).then(|| list(3));
    Ok(Operator::Eye {
        sizes: EyeSizes::Given { rows: list(0), columns: list(1), batch },
        diagonal: list(2),
        element: Some(output_type(layer)?),
    })
}

fn pad(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    match layer.required("pad_mode")? {
        "constant" => Ok(Operator::Pad {
            pads: Pads::Each { begins: integers(1), ends: integers(2) },
            axes: None,
            value: (layer.inputs.len() > 3).then_some(PadValue::Input(3)),
        }),
        mode => {
            let known = [
                ("edge", PadMode::Edge),
                ("reflect", PadMode::Reflect),
                ("symmetric", PadMode::Symmetric),
            ];
            let found = known.iter().find(|(name, _)| *name == mode);
            let (_, mode) = found.ok_or_else(|| {
                layer.malformed(format!("pad_mode {mode:?} is none of its modes"))
            })?;
            let pads = Pads::Each { begins: integers(1), ends: integers(2) };
            Ok(Operator::PadElements { pads, axes: None, mode: *mode, once: true })
        }
    }
}

fn broadcast(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let mapping = layer.inputs.len() > 2;
    let rule = match layer.attribute("mode").unwrap_or("numpy") {
        "numpy" => BroadcastRule::ToSizes,
        "bidirectional" => BroadcastRule::BothWays,
        // OpenVINO writes this for a Broadcast-1 in mode explicit.
        "explicit" | "none" if mapping => BroadcastRule::Mapped(integers(2)),
        "explicit" | "none" => {
            return Err(layer.malformed("mode is explicit, and axes_mapping is missing"));
        }
        mode => return Err(layer.malformed(format!("mode {mode:?} is none of its modes"))),
    };
    Ok(Operator::Broadcast { sizes: integers(1), rule })
}

fn reshape(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let copies = layer.truth("special_zero", layer.required("special_zero")?)?;
    let zero = if copies { ZeroSize::Copies } else { ZeroSize::Zero };
    Ok(Operator::Reshape { sizes: integers(1), zero })
}

fn reverse(layer: &Layer, operands: &[Operand]) -> Result<Operator> {
    match layer.required("mode")? {
        "index" => Ok(Operator::Flip { axes: integers(1) }),
        "mask" => {
            let element = operands.get(1).and_then(|operand| operand.element);
            let is_mask = |element| element == ElementType::Fixed(DType::Boolean);
            if let Some(element) = element.filter(|element| !is_mask(*element)) {
                return Err(layer.malformed(format!("its mask is {element}, not boolean")));
            }
            let mask = Integers::Input { input: 1, types: IntegerTypes::Mask };
            Ok(Operator::FlipMask { mask })
        }
        mode => Err(layer.malformed(format!("mode {mode:?} is neither index nor mask"))),
    }
}

fn gather(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    // Gather has batch_dims since version 7. Since version 8, indices out of bounds are allowed.
    let version = layer.opset()?.unwrap_or(8);
    let batch_axes = if version < 7 { 0 } else { layer.number("batch_dims", 0)? };
    let rule = if version < 8 { IndexRule::Within } else { IndexRule::ZeroOutside };
    Ok(Operator::Gather { axis: integers(2), batch_axes, rule })
}

fn gather_elements(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::GatherElements { axis: layer.required_number("axis")? })
}

fn gather_nd(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let batch_axes = layer.number("batch_dims", 0)?;
    Ok(Operator::GatherNd { batch_axes, merges_batch: layer.opset()?.unwrap_or(8) < 8 })
}

fn scatter_elements(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let counts_back = no_reduction(layer, 12)?;
    Ok(Operator::ScatterElements { axis: integers(3), counts_back })
}

fn scatter_nd(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    no_reduction(layer, 15)?;
    Ok(Operator::ScatterNd)
}

fn scatter_update(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::ScatterUpdate { axis: integers(3) })
}

fn slice_scatter(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::SliceScatter {
        starts: integers(2),
        stops: integers(3),
        steps: Some(integers(4)),
        axes: optional_integers(layer, 5),
    })
}

/// Refuses reductions, such as adding updates, because they compute. Returns whether the attribute applies;
/// OpenVINO ignores it before the set `since`.
fn no_reduction(layer: &Layer, since: u32) -> Result<bool> {
    let is_read = layer.opset()?.is_none_or(|opset| opset >= since);
    match layer.attribute("reduction").filter(|_| is_read) {
        None | Some("none") => Ok(is_read),
        Some(other) => Err(layer.unsupported(format!(
            "reduction \"{}\" computes, and elements are only moved here",
            other.escape_debug()
        ))),
    }
}

fn patches(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let pair = |name: &str| {
        let numbers = layer.numbers(name)?;
        let sizes = numbers.iter().map(|number| usize::try_from(*number).ok().filter(|n| *n > 0));
        match sizes.collect::<Option<Vec<usize>>>().as_deref() {
            Some([height, width]) => Ok([*height, *width]),
            _ => {
                Err(layer.malformed(format!("{name} must be two numbers over 0, got {numbers:?}")))
            }
        }
    };
    let padding = match layer.required("auto_pad")? {
        "valid" => PatchPadding::Valid,
        "same_upper" => PatchPadding::SameUpper,
        "same_lower" => PatchPadding::SameLower,
        other => {
            let other = other.escape_debug();
            let message = format!("auto_pad \"{other}\" is none of valid, same_upper, same_lower");
            return Err(layer.malformed(message));
        }
    };
    let (sizes, strides, rates) = (pair("sizes")?, pair("strides")?, pair("rates")?);
    Ok(Operator::Patches { sizes, strides, rates, padding })
}

fn reverse_sequence(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::ReverseSequence {
        lengths: Integers::Input { input: 1, types: IntegerTypes::Numbers },
        batch_axis: layer.number("batch_axis", 0)?,
        sequence_axis: layer.number("seq_axis", 1)?,
    })
}

fn roll(_: &Layer, _: &[Operand]) -> Result<Operator> {
    let types = IntegerTypes::I32OrI64;
    Ok(Operator::Roll {
        shift: Integers::Input { input: 1, types },
        axes: Integers::Input { input: 2, types },
    })
}

fn shuffle_channels(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    match layer.number("group", 1)? {
        0 => Err(layer.malformed("group is 0; it must be at least 1")),
        groups => Ok(Operator::ShuffleChannels { axis: layer.number("axis", 1)?, groups }),
    }
}

fn slice(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Slice {
        starts: integers(1),
        stops: integers(2),
        steps: Some(integers(3)),
        axes: optional_integers(layer, 4),
    })
}

fn split(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let (parts, outputs) = (layer.required_number::<usize>("num_splits")?, layer.outputs.len());
    if parts != outputs {
        return Err(layer.malformed(format!("num_splits is {parts}, but it has {outputs} outputs")));
    }
    Ok(Operator::Split { axis: integers(1), parts: Parts::Equal })
}

fn squeeze(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let skips = layer.attribute("allow_axis_skip");
    // OpenVINO ignores it before set 15.
    let skips = skips.filter(|_| !matches!(layer.opset(), Ok(Some(..15))));
    let keeps_others = skips.map_or(Ok(false), |text| layer.truth("allow_axis_skip", text))?;
    Ok(Operator::Squeeze { axes: optional_integers(layer, 1), keeps_others })
}

fn strided_slice(layer: &Layer, _: &[Operand]) -> Result<Operator> {
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

fn tile(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Tile { repeats: integers(1) })
}

fn transpose(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Transpose { order: integers(1) })
}

fn unsqueeze(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Unsqueeze { axes: integers(1) })
}

fn variadic_split(_: &Layer, _: &[Operand]) -> Result<Operator> {
    Ok(Operator::Split { axis: integers(1), parts: Parts::Sizes(integers(2)) })
}
