//! The nodes of a model that this reader has no operator for.

use std::collections::HashSet;

use super::builder::label;
use super::functions::Functions;
use super::operators::{is_known, names};
use super::opsets::domain;
use super::proto;
use crate::Result;
use crate::survey::{Survey, Why};

/// Operators that move elements and are not supported, or not in every form.
const MOVES: [&str; 12] = [
    "BitCast",
    "CenterCropPad",
    "Compress",
    "Gather",
    "GatherElements",
    "GatherND",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "TensorScatter",
    "Trilu",
    "Unique",
];

/// Operators that give numbers of shapes.
const SHAPES: [&str; 5] = ["ConstantOfShape", "NonZero", "Range", "Shape", "Size"];

/// Operators of graphs and of lists of tensors.
const HOLDS: [&str; 7] =
    ["ConcatFromSequence", "If", "Loop", "Scan", "SplitToSequence", "StringSplit", "ZipMap"];

/// Refuses a model if there are nodes that are neither operators that are read nor calls of its
/// functions, and names all of them. A function's nodes count once, however often it is called.
pub(super) fn refuse<'a>(nodes: &'a [proto::Node], functions: &Functions<'a>) -> Result<()> {
    let mut survey = Survey::default();
    let mut left = vec![nodes];
    let mut seen = HashSet::new();
    while let Some(nodes) = left.pop() {
        for node in nodes {
            if let Some(function) = functions.called_by(node) {
                if seen.insert(std::ptr::from_ref(function.proto)) {
                    left.push(&function.proto.node);
                }
                continue;
            }
            let domain = domain(&node.domain);
            if node.op_type.is_empty()
                || (domain.is_empty() && node.overload.is_empty() && is_known(&node.op_type))
            {
                continue;
            }
            let kind = node.op_type.escape_debug();
            let (why, name) = match domain {
                "" => (why(node), kind.to_string()),
                other => (Why::Unknown, format!("{kind} of domain {}", other.escape_debug())),
            };
            survey.add(why, name, || label(node, ""));
        }
    }
    survey.finish(&names())
}

fn why(node: &proto::Node) -> Why {
    let kind = node.op_type.as_str();
    let nearest = || {
        let mode = node.attribute.iter().find(|attribute| attribute.name == "mode");
        mode.and_then(|mode| mode.s.as_ref()).is_none_or(|mode| mode[..] == *b"nearest")
    };
    match kind {
        "Resize" | "Upsample" if nearest() => Why::Moves,
        _ if MOVES.contains(&kind) => Why::Moves,
        _ if SHAPES.contains(&kind) => Why::Shapes,
        _ if HOLDS.contains(&kind) => Why::Holds,
        _ if kind.starts_with("Sequence") || kind.starts_with("Optional") => Why::Holds,
        _ if !node.overload.is_empty() || !kind.starts_with(|c: char| c.is_ascii_uppercase()) => {
            Why::Unknown
        }
        _ => Why::Computes,
    }
}
