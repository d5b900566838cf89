//! What a model file says, in words that all dialects share.

use std::fmt;

use crate::{Constant, ElementType, Operator};

/// A graph of operators. No node reads a value that a later one gives.
#[derive(Clone, Debug)]
pub struct Model {
    /// What the file calls itself; may be empty.
    pub name: String,
    /// The dialect and its version, for people: `ONNX, opset 17`, `OpenVINO IR 11`.
    pub dialect: String,
    /// What must be given, in the file's order.
    pub inputs: Vec<Input>,
    /// What is given back, in the file's order.
    pub outputs: Vec<Output>,
    /// The operators and constants.
    pub nodes: Vec<Node>,
    /// How many values there are: each [`ValueId`] is below.
    pub values: usize,
    /// Whether it is a part of a model that computes. Integers that its inputs hold may be reckoned with then, as those do not
    /// become elements of an output, but say how others are moved.
    pub is_part: bool,
}

/// A tensor of the graph: an input, or an output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// A tensor that must be given.
#[derive(Clone, Debug)]
pub struct Input {
    /// Unique among the inputs.
    pub name: String,
    /// The type of its elements.
    pub element: ElementType,
    /// What is said of its shape.
    pub shape: PartialShape,
    /// The value that it is.
    pub value: ValueId,
}

/// A tensor that is given back.
#[derive(Clone, Debug)]
pub struct Output {
    /// Unique among the outputs.
    pub name: String,
    /// The value that it is. Several outputs may be one value, or an input.
    pub value: ValueId,
}

/// An operator at its place in the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// What the file calls it, for messages; may be empty.
    pub name: String,
    /// The file's word for its operator: `Transpose`, `VariadicSplit`.
    pub kind: String,
    /// What it does.
    pub operator: Operator,
    /// What it reads; `None` for an input that is left out.
    pub inputs: Vec<Option<ValueId>>,
    /// What it gives. Each value is given once.
    pub outputs: Vec<ValueId>,
}

/// A graph that a node holds. Its operators are read when it is run, once for each time; what they read of the graphs
/// around it they read as those do.
#[derive(Clone, Debug)]
pub struct Body {
    /// What it is given each time.
    pub inputs: Vec<BodyValue>,
    /// Its operators. No node reads a value that a later one gives.
    pub nodes: Vec<Node>,
    /// What it gives back.
    pub outputs: Vec<BodyValue>,
}

/// A tensor that a body is given, or gives back.
#[derive(Clone, Debug)]
pub struct BodyValue {
    /// The value that it is.
    pub value: ValueId,
    /// The type of its elements, if the file states it.
    pub element: Option<ElementType>,
    /// What is said of its shape.
    pub shape: PartialShape,
}

/// The sizes that a file states: all, some or none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartialShape {
    /// Nothing is known, not even the rank.
    Unknown,
    /// The rank is known, and something of each size.
    Ranked(Vec<Dimension>),
}

/// What a file states of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// This size.
    Fixed(usize),
    /// From `least` to `most`, both included; any size from `least` on without `most`.
    Between {
        /// The least size.
        least: usize,
        /// The largest size, if there is one.
        most: Option<usize>,
    },
    /// Any size, the same wherever the name stands.
    Named(String),
}

impl Dimension {
    /// Any size.
    pub const ANY: Dimension = Dimension::Between { least: 0, most: None };
}

impl Model {
    /// The operators and constants with those of their bodies, each before these.
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
    /// A shape of these sizes.
    pub fn fixed(sizes: &[usize]) -> PartialShape {
        PartialShape::Ranked(sizes.iter().map(|size| Dimension::Fixed(*size)).collect())
    }

    /// The sizes, if the model fixes all of them.
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
    /// `[2, ?, 1..=10, batch]`, or `[...]` where the rank is unknown.
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
    /// A node that is a constant, which reads nothing.
    pub fn constant(name: String, kind: String, constant: Constant, output: ValueId) -> Node {
        let operator = Operator::Constant(constant);
        let (inputs, outputs) = (Vec::new(), vec![output]);
        Node { name, kind, operator, inputs, outputs }
    }

    /// The graphs that it holds.
    pub fn bodies(&self) -> &[Body] {
        match &self.operator {
            Operator::Choose(bodies) => &bodies[..],
            Operator::Loop(body) | Operator::Scan { body, .. } => std::slice::from_ref(body),
            _ => &[],
        }
    }

    /// The values that it reads, with those that the nodes of its bodies read and that these give.
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
