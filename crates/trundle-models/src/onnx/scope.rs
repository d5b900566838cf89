//! The names of a graph, or of one call of a function.

use std::collections::HashMap;

use super::attributes::Parameters;
use super::proto::Graph;
use crate::ValueId;
use crate::problem::{Checked, wrong};

/// What names mean in a list of nodes.
pub(super) struct Scope<'a> {
    /// What each value is; `None` for an input that a call leaves out.
    values: HashMap<&'a str, Option<ValueId>>,
    /// The version of ONNX's own operators.
    pub(super) opset: Option<i64>,
    /// What attributes may refer to, in a function.
    pub(super) parameters: Option<Parameters<'a>>,
    /// What stands before the names of the nodes: the calls that led here.
    pub(super) path: String,
}

impl<'a> Scope<'a> {
    /// Without names yet.
    pub(super) fn new(
        opset: Option<i64>,
        parameters: Option<Parameters<'a>>,
        path: String,
    ) -> Scope<'a> {
        Scope { values: HashMap::new(), opset, parameters, path }
    }

    /// The same with this before the names of its nodes.
    pub(super) fn named(self, path: String) -> Scope<'a> {
        Scope { path, ..self }
    }

    /// Says what `name` is.
    pub(super) fn define(&mut self, name: &'a str, value: Option<ValueId>) -> Checked<()> {
        match self.values.insert(name, value) {
            None => Ok(()),
            Some(_) => wrong!("{name:?} is produced twice"),
        }
    }

    /// Begins a graph of a node, whose nodes have `path` before their names; what stood before them till now.
    pub(super) fn enter(&mut self, path: String) -> String {
        std::mem::replace(&mut self.path, path)
    }

    /// Ends it: its names are known no more, and `path` stands before those of nodes again.
    pub(super) fn leave(&mut self, graph: &'a Graph, path: String) {
        let given = graph.node.iter().flat_map(|node| &node.output);
        let inputs = graph.input.iter().map(|info| &info.name);
        let held = graph.initializer.iter().map(|tensor| &tensor.name);
        for name in given.chain(inputs).chain(held) {
            self.values.remove(name.as_str());
        }
        self.path = path;
    }

    /// What `name` is, if something is called so.
    pub(super) fn get(&self, name: &str) -> Option<Option<ValueId>> {
        self.values.get(name).copied()
    }
}
