//! The names in a graph or in one call of a function.

use std::collections::HashMap;

use super::attributes::Parameters;
use super::proto::Graph;
use crate::ValueId;
use crate::problem::{Checked, wrong};

pub(super) struct Scope<'a> {
    /// `None` for a function's input that the call omits.
    values: HashMap<&'a str, Option<ValueId>>,
    /// The version of ONNX's own operators.
    pub(super) opset: Option<i64>,
    /// The attributes that references in a function may name.
    pub(super) parameters: Option<Parameters<'a>>,
    /// The names of the enclosing nodes, a prefix of nodes' names.
    pub(super) path: String,
}

impl<'a> Scope<'a> {
    pub(super) fn new(opset: Option<i64>, parameters: Option<Parameters<'a>>) -> Scope<'a> {
        Scope { values: HashMap::new(), opset, parameters, path: String::new() }
    }

    /// Defines a new name.
    pub(super) fn define(&mut self, name: &'a str, value: Option<ValueId>) -> Checked<()> {
        match self.values.insert(name, value) {
            None => Ok(()),
            Some(_) => wrong!("{name:?} is produced twice"),
        }
    }

    /// Removes the names of an attribute graph and restores the previous prefix.
    pub(super) fn leave(&mut self, graph: &'a Graph, path: String) {
        let given = graph.node.iter().flat_map(|node| &node.output);
        let inputs = graph.input.iter().map(|info| &info.name);
        let initializers = graph.initializer.iter().map(|tensor| &tensor.name);
        for name in given.chain(inputs).chain(initializers) {
            self.values.remove(name.as_str());
        }
        self.path = path;
    }

    pub(super) fn get(&self, name: &str) -> Option<Option<ValueId>> {
        self.values.get(name).copied()
    }
}
