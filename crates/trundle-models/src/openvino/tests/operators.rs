//! Every version of layers.

use trundle_core::DType;
use trundle_core::ops::PadMode;

use super::super::read_parts;
use super::{Ir, refusal, said};
use crate::{
    Arithmetic, BlockOrder, BroadcastRule, IntegerTypes, Integers, Operator, PadValue, Pads, Parts,
    Result, StridedSliceMasks, ValueId, ZeroSize,
};

/// The first input is f32, other inputs are i64.
pub(super) fn made(
    kind: &str,
    version: &str,
    data: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Operator> {
    let mut ir = Ir::new();
    let from: Vec<_> = (0..inputs)
        .map(|input| ir.parameter("", if input == 0 { "f32" } else { "i64" }, "?,?"))
        .collect();
    let (layer, port) = ir.layer("moves", kind, version, data, &from, outputs);
    (0..outputs).for_each(|output| ir.result((layer, port + output)));
    let model = ir.read()?;
    let [node] = &model.nodes[..] else { panic!("one node, not {:?}", model.nodes) };
    assert_eq!((node.name.as_str(), node.kind.as_str()), ("moves", kind));
    let values = |values: std::ops::Range<usize>| values.map(ValueId);
    assert_eq!(node.inputs, values(0..inputs).map(Some).collect::<Vec<_>>());
    assert_eq!(node.outputs, values(inputs..inputs + outputs).collect::<Vec<_>>());
    assert_eq!(model.values, inputs + outputs);
    Ok(node.operator.clone())
}

pub(super) fn list(input: usize) -> Integers {
    Integers::Input { input, types: IntegerTypes::Integers }
}

fn i32_or_i64(input: usize) -> Integers {
    Integers::Input { input, types: IntegerTypes::I32OrI64 }
}

/// Type, version, attributes, numbers of inputs and outputs, and the expected operator.
type Case = (&'static str, &'static str, &'static str, usize, usize, Operator);

#[track_caller]
pub(super) fn check(cases: impl IntoIterator<Item = Case>) {
    for (kind, version, data, inputs, outputs, expected) in cases {
        let operator = made(kind, version, data, inputs, outputs).unwrap();
        assert_eq!(said(&operator), said(&expected), "{kind} {version} {data}");
    }
}

#[test]
fn layers_that_move_along_axes() {
    let roll = || Operator::Roll { shift: i32_or_i64(1), axes: i32_or_i64(2) };
    let reverse = |batch_axis, sequence_axis| Operator::ReverseSequence {
        lengths: Integers::Input { input: 1, types: IntegerTypes::Numbers },
        batch_axis,
        sequence_axis,
    };
    check([
        ("Roll", "opset7", "", 3, 1, roll()),
        ("Roll", "opset16", "", 3, 1, roll()),
        ("Transpose", "opset1", "", 2, 1, Operator::Transpose { order: list(1) }),
        ("ReverseSequence", "opset1", "", 2, 1, reverse(0, 1)),
        ("ReverseSequence", "opset1", "batch_axis=\"1\" seq_axis=\"-3\"", 2, 1, reverse(1, -3)),
        ("Reverse", "opset1", "mode=\"index\"", 2, 1, Operator::Flip { axes: list(1) }),
        ("Identity", "opset16", "", 1, 1, Operator::Identity),
        ("Convert", "opset1", "destination_type=\"f32\"", 1, 1, Operator::Identity),
    ]);
}

#[test]
fn a_reverse_by_a_mask_reads_booleans() {
    let mask = |element: &str| {
        let mut ir = Ir::new();
        let from = [ir.parameter("", "u8", "?,?"), ir.parameter("", element, "2")];
        let out = ir.layer("r", "Reverse", "opset1", "mode=\"mask\"", &from, 1);
        ir.result(out);
        ir.read()
    };
    let expected =
        Operator::FlipMask { mask: Integers::Input { input: 1, types: IntegerTypes::Mask } };
    assert_eq!(said(&mask("boolean").unwrap().nodes[0].operator), said(&expected));
    assert_eq!(
        refusal(mask("i64")),
        "layer 2 \"r\" (Reverse, line 5): its mask is i64, not boolean"
    );
}

#[test]
fn layers_that_change_the_shape() {
    let reshape = |zero| Operator::Reshape { sizes: list(1), zero };
    let squeeze = |axes, keeps_others| Operator::Squeeze { axes, keeps_others };
    let skip = "allow_axis_skip=\"true\"";
    check([
        ("Reshape", "opset1", "special_zero=\"true\"", 2, 1, reshape(ZeroSize::Copies)),
        ("Reshape", "opset1", "special_zero=\"True\"", 2, 1, reshape(ZeroSize::Copies)),
        ("Reshape", "opset1", "special_zero=\"1\"", 2, 1, reshape(ZeroSize::Copies)),
        ("Reshape", "opset1", "special_zero=\"false\"", 2, 1, reshape(ZeroSize::Zero)),
        ("Reshape", "opset1", "special_zero=\"0\"", 2, 1, reshape(ZeroSize::Zero)),
        ("Squeeze", "opset1", "", 1, 1, squeeze(None, false)),
        ("Squeeze", "opset1", "", 2, 1, squeeze(Some(list(1)), false)),
        // This attribute exists since operation set 15.
        ("Squeeze", "opset14", skip, 2, 1, squeeze(Some(list(1)), false)),
        ("Squeeze", "opset15", skip, 2, 1, squeeze(Some(list(1)), true)),
        ("Squeeze", "opset15", "allow_axis_skip=\"false\"", 1, 1, squeeze(None, false)),
        ("Squeeze", "opset15", "", 1, 1, squeeze(None, false)),
        ("Unsqueeze", "opset1", "", 2, 1, Operator::Unsqueeze { axes: list(1) }),
    ]);
}

#[test]
fn layers_that_cut() {
    let slice =
        |axes| Operator::Slice { starts: list(1), stops: list(2), steps: Some(list(3)), axes };
    let strided =
        |strides, masks| Operator::StridedSlice { begin: list(1), end: list(2), strides, masks };
    let masks = StridedSliceMasks {
        begin: vec![1, 0],
        end: vec![0, 1],
        new_axis: vec![1],
        shrink_axis: vec![0, 0, 1],
        ellipsis: vec![0],
    };
    let all = "begin_mask=\"1, 0\" end_mask=\"0,1\" new_axis_mask=\"1\" \
               shrink_axis_mask=\"0,0,1\" ellipsis_mask=\"0\"";
    let split = |parts| Operator::Split { axis: list(1), parts };
    check([
        ("Slice", "opset8", "", 4, 1, slice(None)),
        ("Slice", "opset8", "", 5, 1, slice(Some(list(4)))),
        ("StridedSlice", "opset1", all, 4, 1, strided(Some(list(3)), masks)),
        ("StridedSlice", "opset1", "end_mask=\"\"", 3, 1, strided(None, Default::default())),
        ("Split", "opset1", "num_splits=\"3\"", 2, 3, split(Parts::Equal)),
        ("VariadicSplit", "opset1", "", 3, 2, split(Parts::Sizes(list(2)))),
    ]);
}

#[test]
fn layers_of_shapes_and_blocks_of_batches() {
    let shape = |element| Operator::Shape { start: 0, end: None, element };
    let range = |element| Operator::Range { element, single: false };
    let pads = || Pads::Each { begins: list(2), ends: list(3) };
    let (i32, i64) = ("output_type=\"i32\"", "output_type=\"i64\"");
    check([
        ("ShapeOf", "opset1", "", 1, 1, shape(DType::I64)),
        // This attribute exists since operation set 3.
        ("ShapeOf", "opset1", i32, 1, 1, shape(DType::I64)),
        ("ShapeOf", "opset3", "", 1, 1, shape(DType::I64)),
        ("ShapeOf", "opset3", i32, 1, 1, shape(DType::I32)),
        ("ShapeOf", "opset3", i64, 1, 1, shape(DType::I64)),
        ("Range", "opset1", "", 3, 1, range(None)),
        ("Range", "opset4", i32, 3, 1, range(Some(DType::I32))),
        (
            "BatchToSpace",
            "opset2",
            "",
            4,
            1,
            Operator::BatchToSpace { block: list(1), crops: pads() },
        ),
        (
            "SpaceToBatch",
            "opset2",
            "",
            4,
            1,
            Operator::SpaceToBatch { block: list(1), pads: pads() },
        ),
    ]);
    let refused = |kind, data, inputs| refusal(made(kind, "opset4", data, inputs, 1));
    let message = refused("ShapeOf", "output_type=\"u8\"", 1);
    assert!(message.ends_with("output_type \"u8\" is neither i32 nor i64"), "{message}");
    assert!(refused("Range", "", 3).ends_with("it has no attribute \"output_type\""));
    let message = refusal(made("BatchToSpace", "opset1", "", 4, 1));
    assert!(message.ends_with("BatchToSpace is there from opset2 on"), "{message}");
}

/// Their type differs from the type of the data.
#[test]
fn the_type_of_sizes_is_their_own() {
    let mut ir = Ir::new();
    let x = ir.parameter("x", "f32", "2,3");
    let shape = ir.layer("s", "ShapeOf", "opset3", "output_type=\"i32\"", &[x], 1);
    let same = ir.layer("c", "Convert", "opset1", "destination_type=\"i32\"", &[shape], 1);
    ir.result(same);
    assert_eq!(said(&ir.read().unwrap().nodes[1].operator), said(&Operator::Identity));
}

#[test]
fn layers_that_put_together() {
    let pad = |value| Operator::Pad {
        pads: Pads::Each { begins: list(1), ends: list(2) },
        axes: None,
        value,
    };
    let elements = |mode| Operator::PadElements {
        pads: Pads::Each { begins: list(1), ends: list(2) },
        axes: None,
        mode,
        once: true,
    };
    let spread = |rule| Operator::Broadcast { sizes: list(1), rule };
    let blocks = "block_size=\"2\" mode=\"blocks_first\"";
    let (first, last) = (BlockOrder::BlocksFirst, BlockOrder::DepthFirst);
    let to_space = |block, order| Operator::DepthToSpace { block, order };
    let to_depth = |block, order| Operator::SpaceToDepth { block, order };
    let shuffle = |axis, groups| Operator::ShuffleChannels { axis, groups };
    check([
        ("Concat", "opset1", "axis=\"-1\"", 1, 1, Operator::Concat { axis: -1 }),
        ("Concat", "opset1", "axis=\"0\"", 3, 1, Operator::Concat { axis: 0 }),
        ("Tile", "opset1", "", 2, 1, Operator::Tile { repeats: list(1) }),
        ("Pad", "opset1", "pad_mode=\"constant\"", 3, 1, pad(None)),
        ("Pad", "opset12", "pad_mode=\"constant\"", 4, 1, pad(Some(PadValue::Input(3)))),
        ("Pad", "opset1", "pad_mode=\"edge\"", 3, 1, elements(PadMode::Edge)),
        ("Pad", "opset1", "pad_mode=\"reflect\"", 4, 1, elements(PadMode::Reflect)),
        ("Pad", "opset12", "pad_mode=\"symmetric\"", 3, 1, elements(PadMode::Symmetric)),
        ("Broadcast", "opset1", "", 2, 1, spread(BroadcastRule::ToSizes)),
        ("Broadcast", "opset3", "mode=\"numpy\"", 2, 1, spread(BroadcastRule::ToSizes)),
        ("Broadcast", "opset3", "mode=\"bidirectional\"", 2, 1, spread(BroadcastRule::BothWays)),
        ("Broadcast", "opset3", "mode=\"explicit\"", 3, 1, spread(BroadcastRule::Mapped(list(2)))),
        ("Broadcast", "opset1", "mode=\"none\"", 3, 1, spread(BroadcastRule::Mapped(list(2)))),
        ("DepthToSpace", "opset1", blocks, 1, 1, to_space(2, first)),
        ("DepthToSpace", "opset1", "mode=\"depth_first\"", 1, 1, to_space(1, last)),
        ("SpaceToDepth", "opset1", blocks, 1, 1, to_depth(2, first)),
        ("SpaceToDepth", "opset1", "mode=\"depth_first\"", 1, 1, to_depth(1, last)),
        ("ShuffleChannels", "opset1", "", 1, 1, shuffle(1, 1)),
        ("ShuffleChannels", "opset3", "axis=\"-3\" group=\"4\"", 1, 1, shuffle(-3, 4)),
    ]);
}

fn converted(from: &str, to: &str, mark: &str) -> Result<Operator> {
    let mut ir = Ir::new();
    let constant = ir.constant(from, "1", &[0; 8]);
    let out =
        ir.layer("c", "Convert", "opset1", &format!("destination_type=\"{to}\""), &[constant], 1);
    ir.result(out);
    let marks = format!("<rt_info><attribute name=\"{mark}\" version=\"0\"/></rt_info><input>");
    let xml = ir.xml().replacen("<input><port", &format!("{marks}<port"), 1);
    read_parts(&xml, &ir.weights).map(|model| model.nodes[1].operator.clone())
}

#[test]
fn compressed_constants_become_what_they_were() {
    for (from, to, dtype) in [
        ("f16", "f32", DType::F32),
        ("f16", "f64", DType::F64),
        ("bf16", "f32", DType::F32),
        ("bf16", "f64", DType::F64),
        ("f32", "f64", DType::F64),
    ] {
        let operator = converted(from, to, "decompression").unwrap();
        assert_eq!(said(&operator), said(&Operator::Widen(dtype)), "{from} {to}");
    }
    let same = converted("f16", "f16", "decompression").unwrap();
    assert_eq!(said(&same), said(&Operator::Identity));
    let strings = made("Convert", "opset1", "destination_type=\"string\"", 1, 1);
    assert!(refusal(strings).contains("Convert from f32 to string computes"));
}

#[test]
fn conversions_that_are_no_decompression_are_arithmetic() {
    let cast = |to| said(&Operator::Arithmetic(Arithmetic::Cast(to)));
    assert_eq!(said(&converted("f16", "f32", "other").unwrap()), cast(DType::F32));
    for (from, to, dtype) in [
        ("f16", "bf16", DType::BF16),
        ("f32", "f16", DType::F16),
        ("f64", "f32", DType::F32),
        ("u8", "f32", DType::F32),
        ("i32", "i64", DType::I64),
    ] {
        assert_eq!(said(&converted(from, to, "decompression").unwrap()), cast(dtype));
    }
    let unmarked = made("Convert", "opset1", "destination_type=\"f64\"", 1, 1).unwrap();
    assert_eq!(said(&unmarked), cast(DType::F64));
}

#[test]
fn attributes_that_operators_cannot_have() {
    let prefix = |kind: &str, inputs: usize, line: usize| {
        format!("layer {inputs} \"moves\" ({kind}, line {line}): ")
    };
    for (kind, data, inputs, outputs, problem) in [
        ("Concat", "", 2, 1, "it has no attribute \"axis\""),
        ("Concat", "axis=\"one\"", 2, 1, "axis=\"one\" is not a number that it can have"),
        (
            "Concat",
            "axis=\"9223372036854775808\"",
            1,
            1,
            "axis=\"9223372036854775808\" is not a number that it can have",
        ),
        ("Convert", "", 1, 1, "it has no attribute \"destination_type\""),
        ("DepthToSpace", "", 1, 1, "it has no attribute \"mode\""),
        (
            "DepthToSpace",
            "mode=\"rows\" block_size=\"2\"",
            1,
            1,
            "mode \"rows\" is neither blocks_first nor depth_first",
        ),
        (
            "SpaceToDepth",
            "mode=\"depth_first\" block_size=\"0\"",
            1,
            1,
            "block_size is 0; it must be at least 1",
        ),
        (
            "SpaceToDepth",
            "mode=\"depth_first\" block_size=\"-1\"",
            1,
            1,
            "block_size=\"-1\" is not a number that it can have",
        ),
        ("Pad", "", 3, 1, "it has no attribute \"pad_mode\""),
        ("Pad", "pad_mode=\"wrap\"", 3, 1, "pad_mode \"wrap\" is none of its modes"),
        ("Broadcast", "mode=\"explicit\"", 2, 1, "mode is explicit, and axes_mapping is missing"),
        ("Broadcast", "mode=\"pdpd\"", 2, 1, "mode \"pdpd\" is none of its modes"),
        ("Reshape", "", 2, 1, "it has no attribute \"special_zero\""),
        (
            "Reshape",
            "special_zero=\"maybe\"",
            2,
            1,
            "special_zero=\"maybe\" is neither true nor false",
        ),
        ("Reverse", "", 2, 1, "it has no attribute \"mode\""),
        ("Reverse", "mode=\"both\"", 2, 1, "mode \"both\" is neither index nor mask"),
        (
            "ReverseSequence",
            "seq_axis=\"\"",
            2,
            1,
            "seq_axis=\"\" is not a number that it can have",
        ),
        ("ShuffleChannels", "group=\"0\"", 1, 1, "group is 0; it must be at least 1"),
        ("Split", "", 2, 1, "it has no attribute \"num_splits\""),
        ("Split", "num_splits=\"3\"", 2, 2, "num_splits is 3, but it has 2 outputs"),
        (
            "StridedSlice",
            "begin_mask=\"1,,0\"",
            3,
            1,
            "begin_mask=\"\" is not a number that it can have",
        ),
    ] {
        let message = refusal(made(kind, "opset16", data, inputs, outputs));
        assert_eq!(message, prefix(kind, inputs, inputs + 3) + problem);
    }
    let skips = made("Squeeze", "opset15", "allow_axis_skip=\"yes\"", 1, 1);
    assert!(refusal(skips).ends_with("allow_axis_skip=\"yes\" is neither true nor false"));
}
