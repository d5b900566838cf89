//! Builds the nodes of a model, and inlines function calls.

use std::collections::{HashMap, HashSet};

use super::attributes::{Attributes, Parameters};
use super::functions::Functions;
use super::growth::Growth;
use super::operator_node::OperatorNode;
use super::operators::{is_holder, versions};
use super::opsets::domain;
use super::proto;
use super::scope::Scope;
use super::tensors::Tensors;
use crate::problem::{Checked, Problem, unsupported, wrong};
use crate::{Error, Node, Operator, Result, ValueId};

/// The maximum nesting depth of function calls and attribute graphs.
const DEEPEST: usize = 64;

pub(super) struct Builder<'a> {
    functions: Functions<'a>,
    pub(super) tensors: Tensors<'a>,
    pub(super) nodes: Vec<Node>,
    pub(super) values: usize,
    pub(super) growth: Growth,
    /// The functions that are being inlined, each called by the one before it.
    calls: Vec<&'a proto::Function>,
    /// How many attribute graphs enclose the current nodes.
    pub(super) graphs: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(functions: Functions<'a>, tensors: Tensors<'a>) -> Builder<'a> {
        Builder {
            functions,
            tensors,
            nodes: Vec::new(),
            values: 0,
            growth: Growth::new(),
            calls: Vec::new(),
            graphs: 0,
        }
    }

    pub(super) fn value(&mut self) -> ValueId {
        self.values += 1;
        ValueId(self.values - 1)
    }

    /// Adds the initializers of a graph as constants.
    ///
    /// # Errors
    /// If an initializer is malformed, or its name is defined twice.
    pub(super) fn add_initializers(
        &mut self,
        graph: &'a proto::Graph,
        scope: &mut Scope<'a>,
    ) -> Result<()> {
        for tensor in &graph.initializer {
            let what = format!("initializer {:?}", tensor.name);
            if tensor.name.is_empty() {
                return Err(Error::Malformed("an initializer has no name".to_owned()));
            }
            let constant = self.tensors.tensor(tensor, &what)?;
            let value = self.value();
            scope.define(&tensor.name, Some(value)).map_err(|problem| problem.of(what))?;
            let (name, kind) = (tensor.name.clone(), "Initializer".to_owned());
            self.nodes.push(Node::constant(name, kind, constant, value));
        }
        Ok(())
    }

    /// Adds `nodes`, which may be in any order. An output whose name is in `given` becomes the value there.
    ///
    /// # Errors
    /// If a node is malformed or not supported, or a name is defined twice or not at all.
    pub(super) fn add(
        &mut self,
        nodes: &'a [proto::Node],
        scope: &mut Scope<'a>,
        given: &HashMap<&str, ValueId>,
    ) -> Result<()> {
        for node in nodes {
            for name in node.output.iter().filter(|name| !name.is_empty()) {
                let value = given.get(name.as_str()).copied().unwrap_or_else(|| self.value());
                scope
                    .define(name, Some(value))
                    .map_err(|problem| problem.of(label(node, &scope.path)))?;
            }
        }
        for node in nodes {
            self.add_node(node, scope)?;
        }
        Ok(())
    }

    fn add_node(&mut self, node: &'a proto::Node, scope: &mut Scope<'a>) -> Result<()> {
        let of_node = |problem: Problem| problem.of(label(node, &scope.path));
        let attributes = self.attributes(node, scope).map_err(of_node)?;
        let inputs = inputs(node, scope).map_err(of_node)?;
        let outputs: Vec<ValueId> = node
            .output
            .iter()
            .map(|name| scope.get(name).flatten().unwrap_or_else(|| self.value()))
            .collect();
        if let Some(function) = self.functions.called_by(node) {
            let (proto, opset) = (function.proto, function.opset.or(scope.opset));
            let called = self.call(proto, opset, attributes, &inputs, outputs.len());
            let mut called = called.map_err(of_node)?;
            called.path = format!("{}{}/", scope.path, name(node));
            return self.add_body(proto, called, &outputs);
        }
        let operator = match is_holder(node) {
            true => self.holder(node, scope, attributes, &inputs, outputs.len())?,
            false => {
                self.operator(node, scope, attributes, &inputs, outputs.len()).map_err(of_node)?
            }
        };
        let (name, kind) = (format!("{}{}", scope.path, name(node)), node.op_type.clone());
        self.nodes.push(Node { name, kind, operator, inputs, outputs });
        Ok(())
    }

    /// Counts the memory of a node, then reads its attributes.
    fn attributes(&mut self, node: &'a proto::Node, scope: &Scope<'a>) -> Checked<Attributes<'a>> {
        let in_function = scope.parameters.is_some();
        if in_function {
            let parts = node.input.len() + node.output.len() + node.attribute.len();
            self.growth.node(parts, scope.path.len() + node.name.len())?;
        } else {
            // Outside of functions, the size of the file limits the number of nodes.
            self.growth.path(scope.path.len())?;
        }
        let attributes = Attributes::new(&node.attribute, scope.parameters.as_ref())?;
        if in_function {
            self.growth.node(0, attributes.memory())?;
        }
        Ok(attributes)
    }

    fn operator(
        &mut self,
        node: &proto::Node,
        scope: &Scope<'a>,
        attributes: Attributes<'a>,
        inputs: &[Option<ValueId>],
        outputs: usize,
    ) -> Checked<Operator> {
        let kind = node.op_type.as_str();
        let first = match (domain(&node.domain), versions(kind).next()) {
            ("", Some(first)) if node.overload.is_empty() => first,
            _ if kind.is_empty() => return wrong!("it names no operator"),
            // `unsupported::refuse` has already reported these by name.
            _ => return unsupported!("it is not supported"),
        };
        let Some(opset) = scope.opset else {
            return wrong!("the model imports no opset of ai.onnx");
        };
        let Some(version) = versions(kind).rfind(|version| version.since <= opset) else {
            let since = first.since;
            return wrong!("opset {opset} has no {kind}: it exists from opset {since} on");
        };
        let tensors = &mut self.tensors;
        let mut node = OperatorNode { opset, inputs, outputs, attributes, tensors };
        let operator = (version.read)(&mut node)?;
        node.check(version)?;
        node.attributes.finish(kind, opset)?;
        Ok(operator)
    }

    fn call(
        &mut self,
        function: &'a proto::Function,
        opset: Option<i64>,
        attributes: Attributes<'a>,
        inputs: &[Option<ValueId>],
        outputs: usize,
    ) -> Checked<Scope<'a>> {
        if self.calls.iter().any(|caller| std::ptr::eq(*caller, function)) {
            return wrong!("the function {:?} calls itself", function.name);
        }
        self.check_depth()?;
        let (takes, gives) = (function.input.len(), function.output.len());
        if inputs.len() > takes || outputs > gives {
            return wrong!(
                "wrong number of inputs or outputs: it has {} and {outputs}, the function {takes} and {gives}",
                inputs.len()
            );
        }
        let declared = function.attribute.len() + function.attribute_proto.len();
        self.growth.node(takes + gives + declared, 0)?;
        let parameters =
            Parameters::new(&function.attribute, &function.attribute_proto, attributes)?;
        let mut scope = Scope::new(opset, Some(parameters));
        for (number, name) in function.input.iter().enumerate() {
            scope.define(name, inputs.get(number).copied().flatten())?;
        }
        Ok(scope)
    }

    /// Limits the nesting of functions and graphs.
    pub(super) fn check_depth(&self) -> Checked<()> {
        if self.calls.len() + self.graphs == DEEPEST {
            return unsupported!("over {DEEPEST} functions and graphs are within each other");
        }
        Ok(())
    }

    /// Inlines a function whose outputs become `outputs`.
    fn add_body(
        &mut self,
        function: &'a proto::Function,
        mut scope: Scope<'a>,
        outputs: &[ValueId],
    ) -> Result<()> {
        let made: HashSet<&str> =
            function.node.iter().flat_map(|node| &node.output).map(String::as_str).collect();
        let mut given = HashMap::new();
        // An output that is also an input needs a copy, and so does a value that is listed as several outputs.
        let mut copies = Vec::new();
        for (name, output) in function.output.iter().zip(outputs) {
            if made.contains(name.as_str()) && !given.contains_key(name.as_str()) {
                given.insert(name.as_str(), *output);
            } else {
                copies.push((name, *output));
            }
        }
        self.calls.push(function);
        self.add(&function.node, &mut scope, &given)?;
        self.calls.pop();
        for (name, output) in copies {
            let Some(value) = scope.get(name).flatten() else {
                let problem = format!("no node produces output {name:?} of the function");
                return Err(Error::Node { node: format!("{:?}", function.name), problem });
            };
            self.nodes.push(Node {
                name: format!("{}{name}", scope.path),
                kind: "Identity".to_owned(),
                operator: Operator::Identity,
                inputs: vec![Some(value)],
                outputs: vec![output],
            });
        }
        Ok(())
    }
}

fn inputs(node: &proto::Node, scope: &Scope) -> Checked<Vec<Option<ValueId>>> {
    let value = |name: &String| match (name.as_str(), scope.get(name)) {
        ("", _) => Ok(None),
        (_, Some(value)) => Ok(value),
        (name, None) => wrong!("it reads {name:?}, which no node produces"),
    };
    node.input.iter().map(value).collect()
}

pub(super) fn name(node: &proto::Node) -> &str {
    match node.name.as_str() {
        "" => node.output.iter().find(|name| !name.is_empty()).map_or("", String::as_str),
        name => name,
    }
}

pub(super) fn attribute_graphs(node: &proto::Node) -> impl Iterator<Item = &proto::Graph> {
    node.attribute.iter().filter_map(|attribute| attribute.g.as_deref())
}

/// The node's name in messages: `Transpose "a/b"`, or `node "a/b"` without an operator. Text from the file is escaped
/// for terminals.
pub(super) fn label(node: &proto::Node, path: &str) -> String {
    let kind = if node.op_type.is_empty() { "node" } else { &node.op_type };
    format!("{} {:?}", kind.escape_debug(), format!("{path}{}", name(node)))
}
