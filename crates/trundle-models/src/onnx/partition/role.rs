//! Classifies the nodes of a model: known before the model runs, moving or computing.

use std::collections::HashSet;

use crate::onnx::functions::Functions;
use crate::onnx::operators::versions;
use crate::onnx::proto;
use crate::onnx::unsupported::unsupported;

/// Inputs whose elements are moved. All other inputs decide how.
const MOVED_INPUTS: [&str; 7] =
    ["X", "data", "input", "input_data", "past_cache", "update", "updates"];

/// Operators that keep the order of elements. Runtimes move nothing for them.
const VIEWS: [&str; 6] = ["Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Its outputs are known before the model runs.
    Known,
    Moves,
    Computes,
}

/// Returns the role of a node, and its name in messages if it computes. `known` has the known tensors.
pub(super) fn role<'a>(
    node: &'a proto::Node,
    functions: &Functions<'a>,
    known: &HashSet<&str>,
) -> (Role, String) {
    if functions.called_by(node).is_some() {
        return (Role::Computes, format!("function {}", node.op_type.escape_debug()));
    }
    if let Some((_, name)) = unsupported(node) {
        return (Role::Computes, name);
    }
    let kind = node.op_type.as_str();
    let is_known = |name: &String| name.is_empty() || known.contains(name.as_str());
    if says_shape(node) || node.input.iter().all(is_known) {
        return (Role::Known, String::new());
    }
    let Some(names) = moved_inputs(kind) else { return (Role::Computes, kind.to_owned()) };
    let others = node.input.iter().zip(names.into_iter().chain(std::iter::repeat(None)));
    match others
        .filter_map(|(input, name)| Some((input, name?)))
        .find(|(input, _)| !is_known(input))
    {
        None => (Role::Moves, String::new()),
        Some((_, name)) => (Role::Computes, format!("{kind} with computed {name}")),
    }
}

/// An entry for each input of a moving operator: `None` if its elements are moved, otherwise its name. Further inputs
/// are moved. `None` for arithmetic.
pub(super) fn moved_inputs(kind: &str) -> Option<Vec<Option<&'static str>>> {
    if crate::onnx::arithmetic::is_arithmetic(kind)
        || matches!(kind, "ConstantOfShape" | "EyeLike" | "Range")
    {
        return None;
    }
    let form = versions(kind)
        .max_by_key(|form| form.inputs.map_or(0, |[all, more]| all.len() + more.len()))?;
    let names = form.inputs.unwrap_or_default().concat();
    Some(names.into_iter().map(|name| (!MOVED_INPUTS.contains(&name)).then_some(name)).collect())
}

/// Whether a node only changes a shape.
pub(super) fn is_view(node: &proto::Node) -> bool {
    VIEWS.contains(&node.op_type.as_str())
}

/// Whether a node uses only the shape of its input.
pub(super) fn says_shape(node: &proto::Node) -> bool {
    matches!(node.op_type.as_str(), "Shape" | "Size")
}
