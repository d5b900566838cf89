//! The names in a graph or in one call of a function.

use std::collections::HashMap;

use super::attributes::Parameters;
use super::proto::Graph;
use crate::ValueId;
use crate::problem::{Checked, wrong};

/// The meaning of each name in a list of nodes.
pub(super) struct Scope<'a> {
    /// The value of each name; `None` if the name is an input of a function that the call omits.
    values: HashMap<&'a str, Option<ValueId>>,
    /// The version of ONNX's own operators.
    pub(super) opset: Option<i64>,
    /// In a function: the attributes that references may name.
    pub(super) parameters: Option<Parameters<'a>>,
    /// The prefix of the nodes' names, which consists of the names of the enclosing nodes.
    pub(super) path: String,
}

impl<'a> Scope<'a> {
    pub(super) fn new(opset: Option<i64>, parameters: Option<Parameters<'a>>) -> Scope<'a> {
        Scope { values: HashMap::new(), opset, parameters, path: String::new() }
    }

    /// Defines `name`. It is an error if it is already defined.
    pub(super) fn define(&mut self, name: &'a str, value: Option<ValueId>) -> Checked<()> {
        match self.values.insert(name, value) {
            None => Ok(()),
            Some(_) => wrong!("{name:?} is produced twice"),
        }
    }

    /// Leaves an attribute graph: removes its names and restores the previous prefix.
    pub(super) fn leave(&mut self, graph: &'a Graph, path: String) {
        let given = graph.node.iter().flat_map(|node| &node.output);
        let inputs = graph.input.iter().map(|info| &info.name);
        let initializers = graph.initializer.iter().map(|tensor| &tensor.name);
        for name in given.chain(inputs).chain(initializers) {
            self.values.remove(name.as_str());
        }
        self.path = path;
    }

    /// Looks up `name`; `None` if it is not defined.
    pub(super) fn get(&self, name: &str) -> Option<Option<ValueId>> {
        self.values.get(name).copied()
    }
}
