//! Human-readable listings of models and of their plans.

use std::fmt;

use trundle_core::DType;
use trundle_core::program::TensorId;
use trundle_formats::{Shown, StoredDType};

use crate::resolve::{Number, number};
use crate::{BodyValue, Constant, Data, ElementType, Model, Node, Operator, PlannedModel, ValueId};

impl fmt::Display for Model {
    /// Writes the graph: inputs, operators, outputs. Names are escaped, so that they cannot add lines or terminal
    /// commands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Shown(if self.name.is_empty() { "model" } else { &self.name });
        let names = self.value_names();
        write!(f, "{name}: {}", Shown(&self.dialect))?;
        for input in &self.inputs {
            let (name, element) = (Shown(&input.name), input.element);
            write!(f, "\n  input {name}: {element} {}", Shown(&input.shape))?;
        }
        write_nodes(f, &self.nodes, &names, 1)?;
        for output in &self.outputs {
            write!(f, "\n  output {}: {}", Shown(&output.name), names[output.value.0])?;
        }
        Ok(())
    }
}

impl Model {
    /// The name of an input, the elements of a short list of integers, or else the name of the node that produces the
    /// value.
    fn value_names(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.values];
        for input in &self.inputs {
            names[input.value.0] = Shown(&input.name).to_string();
        }
        name_values(&self.nodes, &mut names);
        names
    }
}

fn name_values(nodes: &[Node], names: &mut [String]) {
    for (number, node) in nodes.iter().enumerate() {
        if let (Some(text), [value]) = (literal(node), &node.outputs[..]) {
            names[value.0] = text;
            continue;
        }
        let name = match node.name.as_str() {
            "" => format!("#{number}"),
            name => Shown(name).to_string(),
        };
        let short = &name[..name.floor_char_boundary(MOST_NAME)];
        for (output, value) in node.outputs.iter().enumerate() {
            names[value.0] =
                if node.outputs.len() == 1 { name.clone() } else { format!("{short}.{output}") };
        }
        for body in node.bodies() {
            for (input, own) in body.inputs.iter().enumerate() {
                names[own.value.0] = format!("{short}/{input}");
            }
            name_values(&body.nodes, names);
        }
    }
}

fn write_nodes(
    f: &mut fmt::Formatter<'_>,
    nodes: &[Node],
    names: &[String],
    depth: usize,
) -> fmt::Result {
    let indent = "  ".repeat(depth);
    for node in nodes.iter().filter(|node| literal(node).is_none()) {
        write!(f, "\n{indent}{}", line(node, names))?;
        for body in node.bodies() {
            let listed =
                |values: &[BodyValue]| listed(values.iter().map(|value| Some(value.value)), names);
            write!(f, "\n{indent}  given {}:", listed(&body.inputs))?;
            write_nodes(f, &body.nodes, names, depth + 2)?;
            write!(f, "\n{indent}    gives {}", listed(&body.outputs))?;
        }
    }
    Ok(())
}

/// The bytes of a node's name that are copied into the names of its values.
const MOST_NAME: usize = 200;

/// `outputs = kind(inputs)`.
fn line(node: &Node, names: &[String]) -> String {
    let outputs = listed(node.outputs.iter().copied().map(Some), names);
    if let Operator::Constant(Constant { element, shape, .. }) = &node.operator {
        return format!("{outputs} = constant, {element} {shape}");
    }
    let inputs = listed(node.inputs.iter().copied(), names);
    format!("{outputs} = {}({inputs})", Shown(&node.kind))
}

/// `-` is an omitted input.
fn listed(values: impl Iterator<Item = Option<ValueId>>, names: &[String]) -> String {
    let name = |value: Option<ValueId>| value.map_or("-", |value| &names[value.0]);
    values.map(name).collect::<Vec<_>>().join(", ")
}

const MOST_WRITTEN: usize = 8;

/// A small integer constant, usually a parameter: `[3, -1]` or `2`.
fn literal(node: &Node) -> Option<String> {
    let Operator::Constant(Constant { element: ElementType::Fixed(dtype), shape, data }) =
        &node.operator
    else {
        return None;
    };
    let (Data::Bytes(bytes), 0..=1) = (data, shape.rank()) else { return None };
    if shape.elements() > MOST_WRITTEN || !matches!(dtype, DType::I32 | DType::I64) {
        return None;
    }
    let element = StoredDType::little_endian(*dtype);
    let entry = |at: usize| match number(&element, bytes, at) {
        Some(Number::Integer(entry)) => Some(entry.to_string()),
        _ => None,
    };
    let entries = (0..shape.elements()).map(entry).collect::<Option<Vec<String>>>()?;
    let list = entries.join(", ");
    Some(if shape.rank() == 0 { list } else { format!("[{list}]") })
}

/// Limits the lines for a move and its plan.
const MOST_LINES: usize = 33;

impl fmt::Display for PlannedModel {
    /// Lists the passes: source and destination, the intermediate tensors that are not stored, the move and its plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passes = self.passes().len();
        let bytes = self.moved_bytes();
        let plural = if passes == 1 { "" } else { "es" };
        write!(f, "{passes} pass{plural} over memory, {bytes} bytes")?;
        let model = self.model();
        for (index, pass) in self.passes().iter().enumerate() {
            let (element, shape) = (model.element(pass.target), model.shape(pass.target));
            let name = Shown(model.name(pass.target));
            write!(f, "\n\npass {index}: writes {name}, {element} {shape}")?;
            if !model.outputs().contains(&pass.target) {
                f.write_str(", because the operators that read it cannot be merged with it")?;
            }
            let called = |id: &TensorId| {
                let is_roll = self.rolls().contains(id);
                let roll = if is_roll { " (slices that are a roll)" } else { "" };
                format!("{}{roll}", Shown(model.name(*id)))
            };
            let via: Vec<String> = pass.via.iter().rev().map(called).collect();
            if !via.is_empty() {
                write!(f, "\n  merged with {}", via.join(", "))?;
            }
            for part in &pass.parts {
                write!(f, "\nfrom {}", Shown(model.name(part.from)))?;
                let Some(work) = self.program().move_of(part) else {
                    f.write_str("\nin tiles, because it would need too many boxes")?;
                    continue;
                };
                let plan = self.program().plans_of(part);
                for (title, text) in [("move", work.to_string()), ("plan", plan.to_string())] {
                    write!(f, "\n{title}")?;
                    for line in text.lines().take(MOST_LINES) {
                        write!(f, "\n  {line}")?;
                    }
                    let more = text.lines().count().saturating_sub(MOST_LINES);
                    if more > 0 {
                        write!(f, "\n  and {more} more")?;
                    }
                }
            }
        }
        Ok(())
    }
}
