//! Which node produces each tensor, and which nodes can be merged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::role::Role;
use crate::onnx::builder::{attribute_graphs, label};
use crate::onnx::{malformed, proto};
use crate::{Error, Result, order};

pub(super) struct Graph<'a> {
    nodes: &'a [proto::Node],
    giver: HashMap<&'a str, usize>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(nodes: &'a [proto::Node]) -> Result<Graph<'a>> {
        let mut giver = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            for name in names_given(node) {
                if giver.insert(name, index).is_some() {
                    return Err(malformed(format!("two nodes give {name:?}")));
                }
            }
        }
        Ok(Graph { nodes, giver })
    }

    pub(super) fn giver(&self, name: &str) -> Option<usize> {
        self.giver.get(name).copied()
    }

    pub(super) fn reads(&self, index: usize) -> Vec<usize> {
        names_read(&self.nodes[index]).into_iter().filter_map(|name| self.giver(name)).collect()
    }

    /// Returns the indices of all nodes in topological order.
    pub(super) fn sorted(&self) -> Result<Vec<usize>> {
        let named = |index: usize| label(&self.nodes[index], "");
        order::sorted(self.nodes.len(), |index| self.reads(index), named)
            .map_err(|(index, problem)| Error::Node { node: named(index), problem })
    }

    /// The readers of each tensor. An output of the model also has the caller, whose index is the number of nodes.
    pub(super) fn readers<'b>(&'b self, outputs: &'b [String]) -> HashMap<&'b str, Vec<usize>> {
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            names_read(node)
                .into_iter()
                .for_each(|name| readers.entry(name).or_default().push(index));
        }
        outputs.iter().for_each(|name| readers.entry(name).or_default().push(self.nodes.len()));
        readers
    }

    /// Groups the moving nodes that can become one node: a node, and readers of its output or of that output's shape,
    /// without computation in between. Groups and their nodes are in topological order.
    pub(super) fn components(&self, sorted: &[usize], roles: &[Role]) -> Vec<Vec<usize>> {
        let mut levels = Levels::new(self, sorted, roles);
        levels.wait(self, sorted, roles);
        let mut first = levels.linked(self, sorted);
        let mut members: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for index in sorted.iter().copied().filter(|index| roles[*index] == Role::Moves) {
            let level = levels.of[index];
            members.entry((level, root(&mut first, index))).or_default().push(index);
        }
        members.into_values().collect()
    }

    /// Returns `members` and the nodes that decide how they move, in the file's order.
    pub(super) fn with_known(&self, members: &[usize], roles: &[Role]) -> Vec<usize> {
        let mut all: BTreeSet<usize> = members.iter().copied().collect();
        let mut left = members.to_vec();
        while let Some(index) = left.pop() {
            let known = self.reads(index).into_iter().filter(|read| roles[*read] == Role::Known);
            left.extend(known.filter(|read| all.insert(*read)));
        }
        all.into_iter().collect()
    }
}

/// The level of each node: at least the number of changes from computing to moving on any path to it. Nodes that move
/// in the same level can be merged, because no path from one to the other leads through computation.
struct Levels {
    of: Vec<usize>,
    /// Whether each node moves, or computes from the shape of a tensor of the same level.
    follows: Vec<bool>,
}

impl Levels {
    fn new(graph: &Graph, sorted: &[usize], roles: &[Role]) -> Levels {
        let (mut of, mut follows) = (vec![0; roles.len()], vec![false; roles.len()]);
        for index in sorted.iter().copied() {
            let reads = graph.reads(index);
            let after = |read: &usize| match (roles[index], roles[*read]) {
                (Role::Moves | Role::Known, Role::Computes) => of[*read] + 1,
                _ => of[*read],
            };
            let level = reads.iter().map(after).max().unwrap_or(0);
            follows[index] = match roles[index] {
                Role::Moves => true,
                Role::Known => reads.iter().any(|read| follows[*read] && of[*read] == level),
                Role::Computes => false,
            };
            of[index] = level;
        }
        Levels { of, follows }
    }

    /// A union-find forest: nodes that must be merged are in the same tree.
    fn linked(&self, graph: &Graph, sorted: &[usize]) -> Vec<usize> {
        let mut first: Vec<usize> = (0..self.of.len()).collect();
        for index in sorted.iter().copied().filter(|index| self.follows[*index]) {
            for read in graph.reads(index) {
                if self.follows[read] && self.of[read] == self.of[index] {
                    let (one, other) = (root(&mut first, read), root(&mut first, index));
                    first[one.max(other)] = one.min(other);
                }
            }
        }
        first
    }

    /// Delays groups to a later level if they can be merged with a reader there.
    fn wait(&mut self, graph: &Graph, sorted: &[usize], roles: &[Role]) {
        let mut readers = vec![Vec::new(); roles.len()];
        for index in 0..roles.len() {
            graph.reads(index).into_iter().for_each(|read| readers[read].push(index));
        }
        let mut first = self.linked(graph, sorted);
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for index in sorted.iter().copied().filter(|index| self.follows[*index]) {
            members.entry(root(&mut first, index)).or_default().push(index);
        }
        for index in sorted.iter().rev() {
            // Handles each group at its last node. The levels of its readers are final by then.
            let Some(group) = members.remove(&root(&mut first, *index)) else { continue };
            let own = root(&mut first, *index);
            let outside = group.iter().flat_map(|member| &readers[*member]).copied();
            let outside: Vec<usize> =
                outside.filter(|reader| root(&mut first, *reader) != own).collect();
            let Some(latest) = outside.iter().map(|reader| self.of[*reader]).min() else {
                continue;
            };
            let joins = |reader: &usize| self.follows[*reader] && self.of[*reader] == latest;
            if outside.iter().any(joins) {
                group.iter().for_each(|member| self.of[*member] = latest);
            }
        }
    }
}

pub(super) fn names_given(node: &proto::Node) -> impl Iterator<Item = &str> {
    node.output.iter().map(String::as_str).filter(|name| !name.is_empty())
}

/// The names of a node's inputs, and of outside tensors that its branches and bodies read.
pub(super) fn names_read(node: &proto::Node) -> Vec<&str> {
    let mut names = Vec::new();
    for node in with_inner([node]) {
        names.extend(node.input.iter().map(String::as_str));
        // A branch may return an outside tensor.
        let given = attribute_graphs(node).flat_map(|graph| &graph.output);
        names.extend(given.map(|info| info.name.as_str()));
    }
    names
}

/// The nodes, and all nodes of the graphs inside them.
pub(super) fn with_inner<'a>(
    nodes: impl IntoIterator<Item = &'a proto::Node>,
) -> Vec<&'a proto::Node> {
    let (mut all, mut left) = (Vec::new(), nodes.into_iter().collect::<Vec<_>>());
    while let Some(node) = left.pop() {
        all.push(node);
        left.extend(attribute_graphs(node).flat_map(|graph| &graph.node));
    }
    all
}

/// The root is the lowest index in its set.
fn root(first: &mut [usize], mut index: usize) -> usize {
    while first[index] != index {
        first[index] = first[first[index]];
        index = first[index];
    }
    index
}
