//! Error messages without panics.

use super::{Ir, read_parts, refusal};
use crate::tests::cases;

/// Layer 2 is on line 11, and the edges begin on line 19.
const GOOD: &str = include_str!("good.xml").trim_ascii_end();

const WEIGHTS: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];

/// Replaces one text of the valid model.
#[track_caller]
fn refused(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old:?} is in the good model");
    refusal(read_parts(&GOOD.replacen(old, new, 1), &WEIGHTS))
}

#[test]
fn the_good_model_is_read() {
    let model = read_parts(GOOD, &WEIGHTS).unwrap();
    assert_eq!((model.nodes.len(), model.values), (2, 3));
    // A byte order mark is allowed.
    assert!(read_parts(&format!("\u{FEFF}{GOOD}"), &WEIGHTS).is_ok());
}

#[test]
fn computing_layers_are_refused_with_the_supported_ones() {
    let names = "BatchToSpace, Broadcast, Concat, Const, Constant, Convert, DepthToSpace, \
                 ExtractImagePatches, Eye, Gather, GatherElements, GatherND, Identity, Interpolate, Pad, \
                 Parameter, Range, Reshape, Result, Reverse, ReverseSequence, Roll, \
                 ScatterElementsUpdate, ScatterNDUpdate, ScatterUpdate, ShapeOf, ShuffleChannels, Slice, \
                 SliceScatter, SpaceToBatch, SpaceToDepth, Split, Squeeze, StridedSlice, Tile, Transpose, \
                 Unsqueeze, VariadicSplit";
    for (kind, why) in [
        ("MatMul", "which computes"),
        ("TensorIterator", "which holds graphs or lists of tensors"),
        ("GatherTree", "which moves elements but is not implemented"),
        ("roll", "which is not known"),
    ] {
        let message = refused("type=\"Roll\"", &format!("type=\"{kind}\""));
        assert_eq!(
            message,
            format!(
                "layer 2 \"r\" ({kind}, line 11): not supported: {kind} (1 node), {why}; supported: \
                 {names}"
            )
        );
    }
}

#[test]
fn arithmetic_on_tensors_is_listed_as_unsupported() {
    let mut ir = Ir::new();
    let x = ir.parameter("x", "f32", "?,?");
    let shape = ir.layer("sizes", "ShapeOf", "opset3", "", &[x], 1);
    // On shapes, arithmetic is allowed.
    let doubled = ir.layer("doubled", "Add", "opset1", "", &[shape, shape], 1);
    ir.result(doubled);
    let sum = ir.layer("sum", "Add", "opset1", "", &[x, x], 1);
    let relu = ir.layer("relu", "Relu", "opset1", "", &[sum], 1);
    ir.result(relu);
    let message = refusal(ir.read());
    assert!(message.contains("Add (1 node), Relu (1 node), which compute;"), "{message}");
}

#[test]
fn modes_that_compute_are_named() {
    for mode in ["linear", "linear_onnx", "cubic", "bilinear_pillow", "area"] {
        let mut ir = Ir::new();
        let x = ir.parameter("", "f32", "?,?");
        ir.layer("", "Interpolate", "opset11", &format!("mode=\"{mode}\""), &[x, x], 1);
        let message = refusal(ir.read());
        let says = format!("not supported: Interpolate in mode {mode} (1 node), which computes");
        assert!(message.contains(&says), "{message}");
    }
}

#[test]
fn control_characters_in_messages_are_escaped() {
    let message =
        refused("name=\"r\" type=\"Roll\"", "name=\"a&#10;\u{9B}b\" type=\"c&#10;\u{9B}d\"");
    let start = "layer 2 \"a\\n\\u{9b}b\" (c\\n\\u{9b}d, line 11): not supported: c\\n\\u{9b}d (1";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn the_body_of_an_unsupported_layer_is_skipped() {
    // This body is deeper than any call stack.
    let body = format!("<body>{}{}</body>", "<net>".repeat(50_000), "</net>".repeat(50_000));
    let message = refused("type=\"Roll\" version=\"opset7\">", &format!("type=\"If\">{body}"));
    assert!(
        message.starts_with("layer 2 \"r\" (If, line 11): not supported: If (1 node)"),
        "{message}"
    );
}

#[test]
fn unknown_versions_are_refused() {
    let net = |version: &str| {
        format!("OpenVINO IR of version {version:?} is not supported; supported: 10 and 11")
    };
    for version in ["7", "12", "", "eleven"] {
        let new = format!("\"good\" version=\"{version}\"");
        assert_eq!(refused("\"good\" version=\"11\"", &new), net(version));
    }
    assert_eq!(refused(" version=\"11\"", ""), net(""));
    let layer = "layer 2 \"r\" (Roll, line 11): ";
    for version in [
        "opset0",
        "opset18",
        "opset07",
        "opset+7",
        "opset99999999999",
        "opset",
        "extension",
        "7",
        "",
    ] {
        assert_eq!(
            refused("\"opset7\"", &format!("{version:?}")),
            format!("{layer}version {version:?} is unknown; known are opset1 to opset17")
        );
    }
    assert_eq!(refused(" version=\"opset7\"", ""), format!("{layer}it has no version"));
    assert_eq!(
        refused("opset7", "opset6"),
        format!("{layer}opset6 does not have it; Roll is there from opset7 on")
    );
}

#[test]
fn each_change_of_the_table_is_refused() {
    for (change, problem) in cases(include_str!("refusals.txt")) {
        let (old, new) = change.split_once(" => ").unwrap();
        assert_eq!(refused(old, new), problem);
    }
}

#[test]
fn layers_with_too_few_inputs_are_refused() {
    let mut ir = Ir::new();
    let from = ir.parameter("", "f32", "1");
    ir.layer("p", "Pad", "opset1", "", &[from; 2], 1);
    assert_eq!(refusal(ir.read()), "layer 1 \"p\" (Pad, line 4): it has 2 inputs; Pad has 3 to 4");
    let mut ir = Ir::new();
    ir.layer("c", "Concat", "opset1", "", &[], 1);
    let problem = "it has 0 inputs; Concat has at least 1";
    assert_eq!(refusal(ir.read()), format!("layer 0 \"c\" (Concat, line 3): {problem}"));
}

#[test]
fn cycles_are_refused() {
    assert_eq!(
        refused("from-layer=\"0\" from-port=\"0\"", "from-layer=\"2\" from-port=\"3\""),
        "layer 2 \"r\" (Roll, line 11): it is part of a cycle: \"r\" reads \"r\""
    );
    let ring = |length: usize| {
        let mut ir = Ir::new();
        ir.result((1, 1));
        for at in 0..length {
            let from = 1 + (at + 1) % length;
            ir.layer(&format!("s{at}"), "Squeeze", "opset1", "", &[(from, 1)], 1);
        }
        refusal(ir.read())
    };
    assert_eq!(
        ring(3),
        "layer 1 \"s0\" (Squeeze, line 4): it is part of a cycle: \"s0\" reads \"s1\" reads \
         \"s2\" reads \"s0\""
    );
    assert_eq!(
        ring(1000),
        "layer 1 \"s0\" (Squeeze, line 4): it is part of a cycle: \"s0\" reads \"s1\" reads \
         \"s2\" reads \"s3\" reads \"s4\" reads \"s5\" reads \"s6\" reads \"s7\" reads ..."
    );
}

#[test]
fn texts_other_than_models_are_refused() {
    for (xml, message) in [
        ("", "not XML of a model: the document does not have a root node"),
        ("<net>", "not XML of a model: the root node was opened but never closed"),
        ("<network/>", "the outermost element is <network>, not <net>"),
        (
            "<!DOCTYPE net [<!ENTITY a \"b\">]><net version=\"11\" name=\"&a;\"/>",
            "not XML of a model: it has a document type, which is not read",
        ),
        (
            "<net version='11' xmlns:a='b'/>",
            "not XML of a model: it has namespaces, which are not read",
        ),
        (
            "<net version='11'\nxmlns ='b'/>",
            "not XML of a model: it has namespaces, which are not read",
        ),
        (
            "<net version=\"11\" name=\"&a;\"/>",
            "not XML of a model: unknown entity reference 'a' at 1:25",
        ),
    ] {
        assert_eq!(refusal(read_parts(xml, &[])), message);
    }
    let attributes =
        |count: usize| -> String { (1..count).map(|number| format!(" a{number}='>'")).collect() };
    assert!(read_parts(&format!("<net version='11'{}/>", attributes(256)), &[]).is_ok());
    assert_eq!(
        refusal(read_parts(&format!("<net version='11'{}/>", attributes(257)), &[])),
        "not XML of a model: an element has over 256 attributes"
    );
    let harmless = "<!-- a 'quote --><net name=' xmlns:a=1' version='11'/>";
    assert!(read_parts(harmless, &[]).is_ok());
    let empty = read_parts("<net version='11'/>", &[]).unwrap();
    assert_eq!((empty.inputs.len(), empty.outputs.len(), empty.nodes.len()), (0, 0, 0));
}

#[test]
fn truncated_models_are_refused() {
    for length in 0..GOOD.len() {
        assert!(read_parts(&GOOD[..length], &WEIGHTS).is_err(), "{length} bytes");
    }
    for length in 0..WEIGHTS.len() {
        assert!(read_parts(GOOD, &WEIGHTS[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_missing_or_changed_letter_never_panics() {
    for at in 0..GOOD.len() {
        let (before, after) = (&GOOD[..at], &GOOD[at + 1..]);
        for between in ["", "0", "9", "-", "\"", "<", ">", "/", "é"] {
            let _ = read_parts(&format!("{before}{between}{after}"), &WEIGHTS);
        }
    }
}
