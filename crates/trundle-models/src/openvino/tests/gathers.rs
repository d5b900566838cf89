//! Gathers, scatters and patches.

use super::operators::{check, list, made};
use super::{refusal, said};
use crate::{IndexRule, Operator, PatchPadding};

#[test]
fn gathers() {
    let gather = |batch_axes, rule| Operator::Gather { axis: list(2), batch_axes, rule };
    let nd = |batch_axes, merges_batch| Operator::GatherNd { batch_axes, merges_batch };
    let (within, zeros) = (IndexRule::Within, IndexRule::ZeroOutside);
    let (one, back) = ("batch_dims=\"1\"", "batch_dims=\"-1\"");
    check([
        ("Gather", "opset1", "", 3, 1, gather(0, within)),
        // This attribute exists since operation set 7.
        ("Gather", "opset1", one, 3, 1, gather(0, within)),
        ("Gather", "opset7", "", 3, 1, gather(0, within)),
        ("Gather", "opset7", back, 3, 1, gather(-1, within)),
        ("Gather", "opset8", one, 3, 1, gather(1, zeros)),
        ("Gather", "opset16", "", 3, 1, gather(0, zeros)),
        ("GatherElements", "opset6", "axis=\"-1\"", 2, 1, Operator::GatherElements { axis: -1 }),
        ("GatherND", "opset5", "", 2, 1, nd(0, true)),
        ("GatherND", "opset5", "batch_dims=\"2\"", 2, 1, nd(2, true)),
        ("GatherND", "opset8", "batch_dims=\"2\"", 2, 1, nd(2, false)),
    ]);
    let refused = |kind, version, data| refusal(made(kind, version, data, 2, 1));
    for (message, says) in [
        (refused("GatherElements", "opset6", ""), "it has no attribute \"axis\""),
        (refused("GatherElements", "opset5", "axis=\"0\""), "is there from opset6 on"),
        (refused("GatherND", "opset8", back), "batch_dims=\"-1\" is not a number that it can have"),
        (refused("GatherND", "opset4", ""), "is there from opset5 on"),
        (refused("Gather", "opset8", ""), "it has 2 inputs; Gather has 3"),
    ] {
        assert!(message.ends_with(says), "{message}");
    }
}

#[test]
fn scatters() {
    let elements = |counts_back| Operator::ScatterElements { axis: list(3), counts_back };
    let (none, sum) = ("reduction=\"none\" use_init_val=\"false\"", "reduction=\"sum\"");
    let slice = |axes| Operator::SliceScatter {
        starts: list(2),
        stops: list(3),
        axes,
        steps: Some(list(4)),
    };
    check([
        ("ScatterElementsUpdate", "opset3", "", 4, 1, elements(false)),
        // This attribute exists since operation set 12. For ScatterNDUpdate, it exists since set 15.
        ("ScatterElementsUpdate", "opset11", sum, 4, 1, elements(false)),
        ("ScatterElementsUpdate", "opset12", "", 4, 1, elements(true)),
        ("ScatterElementsUpdate", "opset12", none, 4, 1, elements(true)),
        ("ScatterNDUpdate", "opset3", "", 3, 1, Operator::ScatterNd),
        ("ScatterNDUpdate", "opset4", sum, 3, 1, Operator::ScatterNd),
        ("ScatterNDUpdate", "opset15", "reduction=\"none\"", 3, 1, Operator::ScatterNd),
        ("ScatterUpdate", "opset3", "", 4, 1, Operator::ScatterUpdate { axis: list(3) }),
        ("SliceScatter", "opset15", "", 5, 1, slice(None)),
        ("SliceScatter", "opset15", "", 6, 1, slice(Some(list(5)))),
    ]);
    let says = |name| format!("reduction \"{name}\" computes, but trundle only moves elements");
    for (kind, version, data, inputs, says) in [
        ("ScatterElementsUpdate", "opset12", sum, 4, says("sum")),
        ("ScatterElementsUpdate", "opset16", "reduction=\"mean\"", 4, says("mean")),
        ("ScatterNDUpdate", "opset15", "reduction=\"sub\"", 3, says("sub")),
        ("ScatterUpdate", "opset2", "", 4, "ScatterUpdate is there from opset3 on".into()),
        ("SliceScatter", "opset15", "", 4, "it has 4 inputs; SliceScatter has 5 to 6".into()),
    ] {
        let message = refusal(made(kind, version, data, inputs, 1));
        assert!(message.ends_with(&says), "{message}");
    }
}

#[test]
fn patches() {
    let of = |padding| Operator::Patches { sizes: [3, 2], strides: [5, 4], rates: [1, 2], padding };
    let kind = "ExtractImagePatches";
    let numbers = "sizes=\"3,2\" strides=\"5, 4\" rates=\"1,2\"";
    for (name, padding) in [
        ("valid", PatchPadding::Valid),
        ("same_upper", PatchPadding::SameUpper),
        ("same_lower", PatchPadding::SameLower),
    ] {
        let made = made(kind, "opset3", &format!("{numbers} auto_pad=\"{name}\""), 1, 1).unwrap();
        assert_eq!(said(&made), said(&of(padding)));
    }
    for (data, says) in [
        ("strides=\"5,4\" rates=\"1,2\"", "sizes must be two numbers over 0, got []"),
        ("sizes=\"3\" strides=\"5,4\" rates=\"1,2\"", "sizes must be two numbers over 0, got [3]"),
        (
            "sizes=\"3,2\" strides=\"5,0\" rates=\"1,2\"",
            "strides must be two numbers over 0, got [5, 0]",
        ),
        (
            "sizes=\"3,2\" strides=\"5,4\" rates=\"-1,2\"",
            "rates must be two numbers over 0, got [-1, 2]",
        ),
    ] {
        let message = refusal(made(kind, "opset3", &format!("{data} auto_pad=\"valid\""), 1, 1));
        assert!(message.ends_with(says), "{message}");
    }
    for (data, says) in [
        ("", "it has no attribute \"auto_pad\""),
        ("auto_pad=\"explicit\"", "auto_pad \"explicit\" is none of valid, same_upper, same_lower"),
    ] {
        let message = refusal(made(kind, "opset3", &format!("{numbers} {data}"), 1, 1));
        assert!(message.ends_with(says), "{message}");
    }
    let message = refusal(made(kind, "opset2", "", 1, 1));
    assert!(message.ends_with("ExtractImagePatches is there from opset3 on"), "{message}");
}
