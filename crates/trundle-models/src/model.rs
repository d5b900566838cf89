//! The contents of a model file, in a form that all dialects share.

use std::fmt;

use crate::{Constant, ElementType, Operator};

/// A graph of operators. No node reads the output of a later node.
#[derive(Clone, Debug)]
pub struct Model {
    /// The model's name in the file; may be empty.
    pub name: String,
    /// The dialect and its version, for display: `ONNX, opset 17`, `OpenVINO IR 11`.
    pub dialect: String,
    /// The inputs, in the file's order.
    pub inputs: Vec<Input>,
    /// The outputs, in the file's order.
    pub outputs: Vec<Output>,
    /// The operators and constants.
    pub nodes: Vec<Node>,
    /// The number of values; every [`ValueId`] is smaller.
    pub values: usize,
    /// Whether this is a movement-only part of a model that computes. It may do arithmetic on integer inputs, whose
    /// elements decide how other tensors move, but do not occur in an output.
    pub is_part: bool,
}

/// A tensor of the graph: an input, or an output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// An input tensor.
#[derive(Clone, Debug)]
pub struct Input {
    /// Unique among the inputs.
    pub name: String,
    /// The element type.
    pub element: ElementType,
    /// The shape that the file states.
    pub shape: PartialShape,
    /// The value.
    pub value: ValueId,
}

/// An output tensor.
#[derive(Clone, Debug)]
pub struct Output {
    /// Unique among the outputs.
    pub name: String,
    /// The value. Several outputs may share a value, and an output may be an input.
    pub value: ValueId,
}

/// A node of the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name in the file, for messages; may be empty.
    pub name: String,
    /// The operator's name in the file: `Transpose`, `VariadicSplit`.
    pub kind: String,
    /// The operator.
    pub operator: Operator,
    /// The inputs; `None` for an omitted optional input.
    pub inputs: Vec<Option<ValueId>>,
    /// The outputs. No other node produces these values.
    pub outputs: Vec<ValueId>,
}

/// A graph inside a node, resolved for each iteration. Its nodes may also read values of the enclosing graphs.
#[derive(Clone, Debug)]
pub struct Body {
    /// The inputs of an iteration.
    pub inputs: Vec<BodyValue>,
    /// The operators. No node reads the output of a later node.
    pub nodes: Vec<Node>,
    /// The outputs of an iteration.
    pub outputs: Vec<BodyValue>,
}

/// An input or output of a body.
#[derive(Clone, Debug)]
pub struct BodyValue {
    /// The value.
    pub value: ValueId,
    /// The element type, if the file states it.
    pub element: Option<ElementType>,
    /// The shape that the file states.
    pub shape: PartialShape,
}

/// A shape of which the file states all, some or none of the sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartialShape {
    /// The rank is unknown.
    Unknown,
    /// The rank, and what the file states about each size.
    Ranked(Vec<Dimension>),
}

/// What a file states about one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A fixed size.
    Fixed(usize),
    /// At least `least`, and at most `most` if it is given.
    Between {
        /// The smallest size.
        least: usize,
        /// The largest size, if bounded.
        most: Option<usize>,
    },
    /// Any size; axes with the same name have the same size.
    Named(String),
}

impl Dimension {
    /// Any size.
    pub const ANY: Dimension = Dimension::Between { least: 0, most: None };
}

impl Model {
    /// All nodes, also of bodies. A node comes before the nodes of its bodies.
    pub fn all_nodes(&self) -> Vec<&Node> {
        let mut all: Vec<&Node> = Vec::new();
        let mut left: Vec<&Node> = self.nodes.iter().rev().collect();
        while let Some(node) = left.pop() {
            all.push(node);
            left.extend(node.bodies().iter().flat_map(|body| &body.nodes).rev());
        }
        all
    }
}

impl PartialShape {
    /// A shape with all sizes fixed.
    pub fn fixed(sizes: &[usize]) -> PartialShape {
        PartialShape::Ranked(sizes.iter().map(|size| Dimension::Fixed(*size)).collect())
    }

    pub(crate) fn sizes(&self) -> Option<Vec<usize>> {
        let PartialShape::Ranked(dimensions) = self else { return None };
        let fixed = |dimension: &Dimension| match dimension {
            Dimension::Fixed(size) => Some(*size),
            Dimension::Between { least, most } if *most == Some(*least) => Some(*least),
            Dimension::Between { .. } | Dimension::Named(_) => None,
        };
        dimensions.iter().map(fixed).collect()
    }
}

impl fmt::Display for PartialShape {
    /// `[2, ?, 1..=10, batch]`, or `[...]` if the rank is unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartialShape::Unknown => f.write_str("[...]"),
            PartialShape::Ranked(dimensions) => {
                let sizes: Vec<String> = dimensions.iter().map(Dimension::to_string).collect();
                write!(f, "[{}]", sizes.join(", "))
            }
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dimension::Fixed(size) => write!(f, "{size}"),
            Dimension::Between { least: 0, most: None } => f.write_str("?"),
            Dimension::Between { least, most: None } => write!(f, "{least}.."),
            Dimension::Between { least, most: Some(most) } => write!(f, "{least}..={most}"),
            Dimension::Named(name) => name.escape_debug().fmt(f),
        }
    }
}

impl Node {
    /// A node for a constant, without inputs.
    pub fn constant(name: String, kind: String, constant: Constant, output: ValueId) -> Node {
        let operator = Operator::Constant(constant);
        let (inputs, outputs) = (Vec::new(), vec![output]);
        Node { name, kind, operator, inputs, outputs }
    }

    /// The bodies of the node.
    pub fn bodies(&self) -> &[Body] {
        match &self.operator {
            Operator::Choose(bodies) => &bodies[..],
            Operator::Loop(body) | Operator::Scan { body, .. } => std::slice::from_ref(body),
            _ => &[],
        }
    }

    /// The values that the node and its bodies read, including values produced inside the bodies.
    pub(crate) fn reads(&self) -> Vec<ValueId> {
        let (mut read, mut left) = (Vec::new(), vec![self]);
        while let Some(node) = left.pop() {
            read.extend(node.inputs.iter().flatten());
            for body in node.bodies() {
                left.extend(&body.nodes);
                read.extend(body.outputs.iter().map(|output| output.value));
            }
        }
        read
    }
}
