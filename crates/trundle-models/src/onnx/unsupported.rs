//! Nodes that this reader does not support.

use std::borrow::Cow;
use std::collections::HashSet;

use super::arithmetic::is_arithmetic;
use super::builder::{attribute_graphs, label};
use super::functions::Functions;
use super::operators::{is_holder, is_known, names, order_of};
use super::opsets::domain;
use super::proto;
use crate::Result;
use crate::survey::{Survey, Why, depends};

/// Supported not at all, or only in some forms.
const MOVES: [&str; 3] = ["BitCast", "Compress", "Unique"];

const SHAPES: [&str; 1] = ["NonZero"];

/// Operators on lists of tensors.
const HOLDS: [&str; 4] = ["ConcatFromSequence", "SplitToSequence", "StringSplit", "ZipMap"];

/// Refuses a model with unsupported nodes, and names all of them. A function's nodes count once, however often it is
/// called.
pub(super) fn refuse<'a>(graph: &'a proto::Graph, functions: &Functions<'a>) -> Result<()> {
    let mut survey = Survey::default();
    let mut left = vec![&graph.node[..]];
    let mut seen = HashSet::new();
    while let Some(nodes) = left.pop() {
        for node in nodes {
            if let Some(function) = functions.called_by(node) {
                if seen.insert(std::ptr::from_ref(function.proto)) {
                    left.push(&function.proto.node);
                }
                continue;
            }
            if is_holder(node) {
                left.extend(attribute_graphs(node).map(|graph| &graph.node[..]));
                continue;
            }
            if let Some((why, name)) = unsupported(node).filter(|_| !node.op_type.is_empty()) {
                survey.add(why, name, || label(node, ""));
            }
        }
    }
    if !survey.is_empty() {
        add_arithmetic(graph, &mut survey);
    }
    survey.finish(&names())
}

/// Why a node is not supported, and its operator in messages; `None` for a supported node.
pub(super) fn unsupported(node: &proto::Node) -> Option<(Why, String)> {
    let kind = node.op_type.escape_debug();
    let domain = domain(&node.domain);
    if !domain.is_empty() {
        return Some((Why::Unknown, format!("{kind} of domain {}", domain.escape_debug())));
    }
    if let Some(mode) = mode_that_computes(node) {
        return Some((Why::Computes, format!("{kind} in mode {}", mode.escape_debug())));
    }
    if is_einsum_that_computes(node) {
        return Some((Why::Computes, kind.to_string()));
    }
    let is_read = node.overload.is_empty() && is_known(&node.op_type);
    (!is_read).then(|| (why(node), kind.to_string()))
}

/// Adds arithmetic on elements of the graph's inputs. Nodes must be in the order that ONNX requires.
fn add_arithmetic<'a>(graph: &'a proto::Graph, survey: &mut Survey) {
    let initializers: HashSet<&str> =
        graph.initializer.iter().map(|tensor| &tensor.name[..]).collect();
    let inputs = graph.input.iter().map(|input| &input.name[..]);
    let mut dependents = inputs.filter(|name| !initializers.contains(name)).collect();
    for node in &graph.node {
        let is_own = domain(&node.domain).is_empty();
        let says_shapes = is_own && matches!(&node.op_type[..], "EyeLike" | "Shape" | "Size");
        let names = |names: &'a [String]| names.iter().map(String::as_str);
        if !says_shapes
            && depends(&mut dependents, names(&node.input), names(&node.output))
            && is_own
            && is_arithmetic(&node.op_type)
        {
            survey.add(Why::Computes, node.op_type.clone(), || label(node, ""));
        }
    }
}

fn why(node: &proto::Node) -> Why {
    let kind = node.op_type.as_str();
    match kind {
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

/// Whether an Einsum does more than permute the axes of one tensor.
fn is_einsum_that_computes(node: &proto::Node) -> bool {
    let equation =
        || node.attribute.iter().find(|attribute| attribute.name == "equation")?.s.as_deref();
    let orders = || order_of(std::str::from_utf8(equation()?).ok()?);
    node.op_type == "Einsum" && (node.input.len() != 1 || orders().is_none())
}

/// The mode of a resize, if it interpolates.
fn mode_that_computes(node: &proto::Node) -> Option<Cow<'_, str>> {
    if !matches!(node.op_type.as_str(), "Resize" | "Upsample") || !node.overload.is_empty() {
        return None;
    }
    let mode = node.attribute.iter().find(|attribute| attribute.name == "mode")?;
    let mode = mode.s.as_ref().filter(|mode| mode[..] != *b"nearest")?;
    Some(String::from_utf8_lossy(mode))
}
