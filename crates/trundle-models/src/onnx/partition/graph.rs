//! The nodes of a model, which gives what, and which of those that move belong together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::role::Role;
use crate::onnx::builder::label;
use crate::onnx::{malformed, proto};
use crate::{Error, Result, order};

/// Nodes, and which gives what.
pub(super) struct Graph<'a> {
    nodes: &'a [proto::Node],
    giver: HashMap<&'a str, usize>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(nodes: &'a [proto::Node]) -> Result<Graph<'a>> {
        let mut giver = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            for name in names_given(node) {
                if giver.insert(name, place).is_some() {
                    return Err(malformed(format!("two nodes give {name:?}")));
                }
            }
        }
        Ok(Graph { nodes, giver })
    }

    /// The place of the node that gives a tensor.
    pub(super) fn giver(&self, name: &str) -> Option<usize> {
        self.giver.get(name).copied()
    }

    /// The places of the nodes that a node reads.
    pub(super) fn reads(&self, place: usize) -> Vec<usize> {
        names_read(&self.nodes[place]).into_iter().filter_map(|name| self.giver(name)).collect()
    }

    /// The places of all nodes so that none reads what a later one gives.
    pub(super) fn sorted(&self) -> Result<Vec<usize>> {
        let named = |place: usize| label(&self.nodes[place], "");
        order::sorted(self.nodes.len(), |place| self.reads(place), named)
            .map_err(|(place, problem)| Error::Node { node: named(place), problem })
    }

    /// The places of the nodes that read each tensor. The model's user, who reads its outputs, stands behind the last.
    pub(super) fn readers<'b>(&'b self, outputs: &'b [String]) -> HashMap<&'b str, Vec<usize>> {
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            names_read(node)
                .into_iter()
                .for_each(|name| readers.entry(name).or_default().push(place));
        }
        outputs.iter().for_each(|name| readers.entry(name).or_default().push(self.nodes.len()));
        readers
    }

    /// The nodes that move, those together that can be one node: of which one reads what another gives, or its shape, and
    /// nothing in between computes. Each in an order in which they can run, and so are all of them.
    pub(super) fn components(&self, sorted: &[usize], roles: &[Role]) -> Vec<Vec<usize>> {
        let mut stages = Stages::new(self, sorted, roles);
        stages.wait(self, sorted, roles);
        let mut first = stages.linked(self, sorted);
        let mut members: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for place in sorted.iter().copied().filter(|place| roles[*place] == Role::Moves) {
            let stage = stages.of[place];
            members.entry((stage, root(&mut first, place))).or_default().push(place);
        }
        members.into_values().collect()
    }

    /// These nodes, and all that say how they move, in the file's order.
    pub(super) fn with_known(&self, members: &[usize], roles: &[Role]) -> Vec<usize> {
        let mut all: BTreeSet<usize> = members.iter().copied().collect();
        let mut left = members.to_vec();
        while let Some(place) = left.pop() {
            let known = self.reads(place).into_iter().filter(|read| roles[*read] == Role::Known);
            left.extend(known.filter(|read| all.insert(*read)));
        }
        all.into_iter().collect()
    }
}

/// How many times something is computed, and moved after that, before a node. So nodes that move in the same stage can
/// be one: no path leads from one through what computes to the other.
struct Stages {
    of: Vec<usize>,
    /// Which nodes move, or say the shape of what one of the same stage gives.
    follows: Vec<bool>,
}

impl Stages {
    /// Each node in the first stage that it can be in.
    fn new(graph: &Graph<'_>, sorted: &[usize], roles: &[Role]) -> Stages {
        let (mut of, mut follows) = (vec![0; roles.len()], vec![false; roles.len()]);
        for place in sorted.iter().copied() {
            let reads = graph.reads(place);
            let after = |read: &usize| match (roles[place], roles[*read]) {
                (Role::Moves | Role::Known, Role::Computes) => of[*read] + 1,
                _ => of[*read],
            };
            let stage = reads.iter().map(after).max().unwrap_or(0);
            follows[place] = match roles[place] {
                Role::Moves => true,
                Role::Known => reads.iter().any(|read| follows[*read] && of[*read] == stage),
                Role::Computes => false,
            };
            of[place] = stage;
        }
        Stages { of, follows }
    }

    /// For each node one of those that must be one with it.
    fn linked(&self, graph: &Graph<'_>, sorted: &[usize]) -> Vec<usize> {
        let mut first: Vec<usize> = (0..self.of.len()).collect();
        for place in sorted.iter().copied().filter(|place| self.follows[*place]) {
            for read in graph.reads(place) {
                if self.follows[read] && self.of[read] == self.of[place] {
                    let (one, other) = (root(&mut first, read), root(&mut first, place));
                    first[one.max(other)] = one.min(other);
                }
            }
        }
        first
    }

    /// Lets what moves wait for a later stage, where it can then be one with what reads it.
    fn wait(&mut self, graph: &Graph<'_>, sorted: &[usize], roles: &[Role]) {
        let mut readers = vec![Vec::new(); roles.len()];
        for place in 0..roles.len() {
            graph.reads(place).into_iter().for_each(|read| readers[read].push(place));
        }
        let mut first = self.linked(graph, sorted);
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for place in sorted.iter().copied().filter(|place| self.follows[*place]) {
            members.entry(root(&mut first, place)).or_default().push(place);
        }
        for place in sorted.iter().rev() {
            // Each group when its last node is passed: what reads it has its stage by then.
            let Some(group) = members.remove(&root(&mut first, *place)) else { continue };
            let own = root(&mut first, *place);
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

/// The names of what a node gives.
pub(super) fn names_given(node: &proto::Node) -> impl Iterator<Item = &str> {
    node.output.iter().map(String::as_str).filter(|name| !name.is_empty())
}

/// The names of what a node reads, its branches and bodies too.
pub(super) fn names_read(node: &proto::Node) -> Vec<&str> {
    let mut names = Vec::new();
    let mut left = vec![node];
    while let Some(node) = left.pop() {
        names.extend(node.input.iter().map(String::as_str));
        let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_ref());
        for graph in graphs {
            left.extend(&graph.node);
            // A branch may give what it does not make.
            names.extend(graph.output.iter().map(|info| info.name.as_str()));
        }
    }
    names
}

/// The least place of those that are one with `place`.
fn root(first: &mut [usize], mut place: usize) -> usize {
    while first[place] != place {
        first[place] = first[first[place]];
        place = first[place];
    }
    place
}
