//! Graphs inside nodes: branches of an If, bodies of a Loop or Scan.

use std::collections::HashMap;

use super::attributes::Attributes;
use super::builder::{Builder, label, name};
use super::operator_node::missing;
use super::proto;
use super::scope::Scope;
use super::value_info::{only_tensor, tensor_type};
use crate::order::sorted_nodes;
use crate::problem::{Checked, Problem, unsupported, wrong};
use crate::{Body, BodyValue, Node, Operator, PartialShape, Result, ScanAxis, ValueId};

enum Holder<'a> {
    If([&'a proto::Graph; 2]),
    Loop(&'a proto::Graph),
    Scan { body: &'a proto::Graph, cuts: Vec<ScanAxis>, stacks: Vec<ScanAxis> },
}

impl<'a> Builder<'a> {
    /// Returns the operator of a node that contains graphs.
    ///
    /// # Errors
    /// If the node is malformed, or if a node of its graphs is malformed or not supported.
    pub(super) fn holder(
        &mut self,
        node: &proto::Node,
        scope: &mut Scope<'a>,
        attributes: Attributes<'a>,
        inputs: &[Option<ValueId>],
        gives: usize,
    ) -> Result<Operator> {
        let label = label(node, &scope.path);
        let holder = holder(&node.op_type, attributes, inputs, gives, scope.opset)
            .map_err(|problem| problem.of(label.as_str()))?;
        let mut body = |graph, attribute, path, takes, gives| {
            let label = format!("{label}, {attribute}");
            let path = format!("{}{}/{path}/", scope.path, name(node));
            self.body(graph, &label, path, [takes, gives], scope)
        };
        Ok(match holder {
            Holder::If([then, otherwise]) => Operator::Choose([
                body(then, "then_branch", "then", 0, gives)?,
                body(otherwise, "else_branch", "else", 0, gives)?,
            ]),
            // The body has inputs for M and cond even if the node omits them.
            Holder::Loop(graph) => {
                Operator::Loop(body(graph, "body", "body", inputs.len().max(2), 1 + gives)?)
            }
            Holder::Scan { body: graph, cuts, stacks } => {
                let body = body(graph, "body", "body", inputs.len(), gives)?;
                Operator::Scan { body, cuts, stacks }
            }
        })
    }

    /// Reads an attribute graph with this many inputs and outputs. Its constants, which do not change between
    /// iterations, go in front of the node. `label` names the graph in messages, and `path` is the prefix of the names
    /// of its nodes.
    fn body(
        &mut self,
        graph: &'a proto::Graph,
        label: &str,
        path: String,
        sizes: [usize; 2],
        scope: &mut Scope<'a>,
    ) -> Result<Body> {
        let of_graph = |problem: Problem| problem.of(label);
        self.check_graph(graph, sizes, scope).map_err(of_graph)?;
        // Messages repeat the label for each input and output.
        let values = graph.input.len() + graph.output.len();
        self.growth.path(label.len().saturating_mul(values)).map_err(of_graph)?;
        let before = std::mem::replace(&mut scope.path, path);
        let around = std::mem::take(&mut self.nodes);
        self.graphs += 1;
        let mut inputs = Vec::with_capacity(graph.input.len());
        for info in &graph.input {
            let value = self.value();
            scope.define(&info.name, Some(value)).map_err(of_graph)?;
            inputs.push(body_value(info, value, &format!("{label}: input {:?}", info.name))?);
        }
        self.add_initializers(graph, scope)?;
        self.add(&graph.node, scope, &HashMap::new())?;
        let mut outputs = Vec::with_capacity(graph.output.len());
        for info in &graph.output {
            let what = format!("output {:?}", info.name);
            let Some(value) = scope.get(&info.name).flatten() else {
                return Err(of_graph(format!("no node produces its {what}").into()));
            };
            outputs.push(body_value(info, value, &format!("{label}: {what}"))?);
        }
        self.graphs -= 1;
        let nodes = std::mem::replace(&mut self.nodes, around);
        let is_constant = |node: &Node| matches!(node.operator, Operator::Constant(_));
        let (constants, nodes) = nodes.into_iter().partition(is_constant);
        let constants: Vec<Node> = constants;
        self.nodes.extend(constants);
        scope.leave(graph, before);
        Ok(Body { inputs, nodes: sorted_nodes(nodes)?, outputs })
    }

    fn check_graph(
        &mut self,
        graph: &proto::Graph,
        [takes, gives]: [usize; 2],
        scope: &Scope,
    ) -> Checked<()> {
        if graph.input.len() != takes {
            return wrong!(
                "wrong number of inputs: it takes {}, but is given {takes}",
                graph.input.len()
            );
        }
        if graph.output.len() != gives {
            return wrong!(
                "wrong number of outputs: it gives {}, expected {gives}",
                graph.output.len()
            );
        }
        if !graph.sparse_initializer.is_empty() {
            return unsupported!("sparse initializers are not supported");
        }
        self.check_depth()?;
        // A function may be inlined many times, each time with its graphs.
        if scope.parameters.is_some() {
            self.growth.node(graph.initializer.len() + takes + gives, 0)?;
        }
        Ok(())
    }
}

fn holder<'a>(
    kind: &str,
    mut attributes: Attributes<'a>,
    inputs: &[Option<ValueId>],
    outputs: usize,
    opset: Option<i64>,
) -> Checked<Holder<'a>> {
    let Some(opset) = opset else {
        return wrong!("the model imports no opset of ai.onnx");
    };
    let holder = match kind {
        "If" if !matches!(inputs, [Some(_)]) => {
            return wrong!("it has {} inputs, but takes one: cond", inputs.len());
        }
        "If" => Holder::If([attributes.graph("then_branch")?, attributes.graph("else_branch")?]),
        "Loop" => Holder::Loop(attributes.graph("body")?),
        _ => scan(&mut attributes, inputs.len(), outputs, opset)?,
    };
    attributes.finish(kind, opset)?;
    Ok(holder)
}

fn scan<'a>(
    attributes: &mut Attributes<'a>,
    inputs: usize,
    outputs: usize,
    opset: i64,
) -> Checked<Holder<'a>> {
    match opset {
        ..8 => return wrong!("opset {opset} has no Scan: it exists from opset 8 on"),
        8 => return unsupported!("Scan of opset 8, which has batches, is not supported"),
        _ => {}
    }
    let body = attributes.graph("body")?;
    let given = attributes.int("num_scan_inputs")?.ok_or_else(|| missing("num_scan_inputs"))?;
    let scanned = usize::try_from(given).ok().filter(|scanned| (1..=inputs).contains(scanned));
    let Some(scanned) = scanned else {
        return wrong!("num_scan_inputs is {given}, expected 1 to {inputs}, its number of inputs");
    };
    let states = inputs - scanned;
    let Some(stacked) = outputs.checked_sub(states) else {
        return wrong!("too few outputs: it has {outputs}, but {states} for its states alone");
    };
    let cuts = axes(attributes, ["scan_input_axes", "scan_input_directions"], scanned)?;
    let stacks = axes(attributes, ["scan_output_axes", "scan_output_directions"], stacked)?;
    Ok(Holder::Scan { body, cuts, stacks })
}

/// Reads `count` axes and directions (default: the first axis, forward).
fn axes(attributes: &mut Attributes, names: [&str; 2], count: usize) -> Checked<Vec<ScanAxis>> {
    let mut list = |name: &str| match attributes.ints(name)? {
        None => Ok(vec![0; count]),
        Some(list) if list.len() == count => Ok(list.to_vec()),
        Some(list) => wrong!("{name} has {} entries, expected {count}", list.len()),
    };
    let [axes, directions] = [list(names[0])?, list(names[1])?];
    let axis = |(axis, direction)| match direction {
        0 => Ok(ScanAxis { axis, is_backward: false }),
        1 => Ok(ScanAxis { axis, is_backward: true }),
        other => wrong!("{} has {other}, expected 0 or 1", names[1]),
    };
    axes.into_iter().zip(directions).map(axis).collect()
}

/// Reads the type and shape; the file may omit either.
fn body_value(info: &proto::ValueInfo, value: ValueId, what: &str) -> Result<BodyValue> {
    let unknown = BodyValue { value, element: None, shape: PartialShape::Unknown };
    let Some(r#type) = &info.r#type else { return Ok(unknown) };
    only_tensor(r#type, what)?;
    // Some exporters omit unknown types.
    if r#type.tensor.as_ref().is_none_or(|tensor| tensor.elem_type == 0) {
        return Ok(unknown);
    }
    let (element, shape) = tensor_type(info, what)?;
    Ok(BodyValue { value, element: Some(element), shape })
}
