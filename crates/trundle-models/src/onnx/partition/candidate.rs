//! A subgraph, and the node that may replace it.

use std::collections::{BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use prost::Message;
use trundle_core::program::TensorId;

use super::Subgraph;
use super::graph::names_given;
use super::role::{moved_inputs, says_shape};
use super::source::{Source, field};
use super::wire::{add_field, payloads};
use crate::onnx::external::ExternalData;
use crate::onnx::proto::data_location;
use crate::onnx::tensors::constant;
use crate::onnx::value_info::named;
use crate::onnx::{malformed, proto, read_typed};
use crate::{Data, Error, Given, PlannedModel, Result};

/// Operators that ONNX Runtime 1.32 never fuses and runs at 1/15 to 1/2 of the speed of memory. Even one of them alone
/// is worth replacing (measured; docs/models.md).
const SLOW: [&str; 3] = ["DepthToSpace", "Expand", "SpaceToDepth"];

/// A new node with a model of its own, for a subgraph.
pub(super) struct Candidate<'a> {
    pub(super) subgraph: &'a Subgraph,
    pub(super) inputs: Vec<&'a str>,
    pub(super) outputs: Vec<&'a str>,
    read: HashSet<&'a str>,
    /// Whether elements of an input decide how others move.
    is_decided_later: bool,
    nodes: BTreeSet<usize>,
    initializers: BTreeSet<&'a str>,
}

impl<'a> Candidate<'a> {
    /// Builds the candidate. Moved tensors become inputs. Tensors that decide how others move become part of the model
    /// where possible.
    pub(super) fn new(source: &Source<'a>, subgraph: &'a Subgraph) -> Candidate<'a> {
        let nodes = &source.partition.nodes;
        let given = subgraph.members.iter().flat_map(|index| names_given(&nodes[*index]));
        let own: HashSet<&str> = given.collect();
        let mut candidate = Candidate {
            subgraph,
            inputs: Vec::new(),
            outputs: subgraph.outputs.iter().map(String::as_str).collect(),
            read: HashSet::new(),
            is_decided_later: false,
            nodes: subgraph.members.iter().copied().collect(),
            initializers: BTreeSet::new(),
        };
        let reckoned = source.reckoned_from(&own, &subgraph.nodes);
        let mut says_how = Vec::new();
        for index in &subgraph.members {
            let node = &nodes[*index];
            let names = moved_inputs(&node.op_type).unwrap_or_default();
            for (number, name) in node.input.iter().map(String::as_str).enumerate() {
                let is_moved = names.get(number).is_none_or(Option::is_none);
                if name.is_empty() || own.contains(name) {
                    continue;
                }
                match source.is_known(name) && (!is_moved || reckoned.contains(name)) {
                    true => says_how.push(name),
                    false => candidate.reads(name),
                }
            }
        }
        candidate.add_known(source, &own, says_how);
        candidate
    }

    /// Adds the tensors that decide how others move, and everything that they are computed from, to the model. Shapes
    /// of tensors that the node does not read become inputs.
    fn add_known(&mut self, source: &Source<'a>, own: &HashSet<&str>, mut left: Vec<&'a str>) {
        while let Some(name) = left.pop() {
            if name.is_empty() || self.read.contains(name) {
                continue;
            }
            let Some(index) = source.graph.giver(name) else {
                match source.is_default(name) {
                    true => self.decided_by(name),
                    false => _ = self.initializers.insert(name),
                }
                continue;
            };
            let node = &source.partition.nodes[index];
            if self.reads_of(node) {
                self.decided_by(name);
                continue;
            }
            let is_read = |read: &str| own.contains(read) || self.read.contains(read);
            match node.input.first().filter(|_| says_shape(node)) {
                // The shape of a tensor that is neither known nor read.
                Some(of) if !source.is_known(of) && !is_read(of) => self.decided_by(name),
                Some(of) if !source.is_known(of) => _ = self.nodes.insert(index),
                _ if self.nodes.insert(index) => {
                    left.extend(node.input.iter().map(String::as_str));
                }
                _ => {}
            }
        }
    }

    /// Whether the candidate reads an output of `node`, which therefore cannot be part of it.
    fn reads_of(&self, node: &proto::Node) -> bool {
        names_given(node).any(|name| self.read.contains(name))
    }

    fn reads(&mut self, name: &'a str) {
        if self.read.insert(name) {
            self.inputs.push(name);
        }
    }

    /// Adds an input whose elements decide how others move.
    fn decided_by(&mut self, name: &'a str) {
        self.reads(name);
        self.is_decided_later = true;
    }

    /// Replaces inputs that are shapes by copies of the nodes that compute the shapes.
    ///
    /// A tensor inside a new node (`within`) is not written, so the nodes that make it are copied, too. With the shapes
    /// inside, a runtime can infer the shapes of the outputs before it runs. Each step takes one from `left`.
    pub(super) fn find_shapes(
        &mut self,
        source: &Source<'a>,
        within: &HashMap<&str, usize>,
        left: &mut usize,
    ) {
        let is_shape = |name: &&str| {
            let index = source.graph.giver(name);
            index.is_some_and(|index| says_shape(&source.partition.nodes[index]))
        };
        let (mut shapes, read): (Vec<&str>, Vec<&str>) =
            std::mem::take(&mut self.inputs).into_iter().partition(is_shape);
        shapes.iter().for_each(|name| _ = self.read.remove(name));
        self.inputs = read;
        while let Some(name) = shapes.pop() {
            if name.is_empty() || self.read.contains(name) {
                continue;
            }
            let Some(rest) = left.checked_sub(1) else {
                self.reads(name);
                continue;
            };
            *left = rest;
            let Some(index) = source.graph.giver(name) else {
                match source.is_short_initializer(name) {
                    true => _ = self.initializers.insert(name),
                    false => self.reads(name),
                }
                continue;
            };
            let node = &source.partition.nodes[index];
            let can_be_within = match source.is_known(name) {
                true if says_shape(node) => {
                    let mut of = node.input.iter();
                    of.all(|of| is_apart(source, within, of, left)) && !self.reads_of(node)
                }
                true => !self.reads_of(node),
                false => within.contains_key(name),
            };
            if !can_be_within {
                self.reads(name);
            } else if self.nodes.insert(index) {
                shapes.extend(node.input.iter().map(String::as_str));
            }
        }
    }

    /// Adds an output for the shape of a tensor inside the node. The node at `index` of the model computes
    /// this shape.
    pub(super) fn add_shape(&mut self, index: usize, name: &'a str) {
        self.nodes.insert(index);
        self.outputs.push(name);
    }

    /// Encodes the candidate's model. Inputs and outputs have names, but no types.
    pub(super) fn model(&self, source: &Source<'a>, outputs: &[&str]) -> Result<Vec<u8>> {
        let mut graph = Vec::new();
        self.nodes
            .iter()
            .for_each(|index| add_field(&mut graph, field::NODE, &source.nodes[*index]));
        add_field(&mut graph, field::NAME, source.partition.name.as_bytes());
        for name in &self.initializers {
            add_field(&mut graph, field::INITIALIZER, &initializer(source, name)?);
        }
        let mut add_named =
            |number, name: &&str| add_field(&mut graph, number, &named(name).encode_to_vec());
        self.inputs.iter().for_each(|name| add_named(field::INPUT, name));
        outputs.iter().for_each(|name| add_named(field::OUTPUT, name));

        let mut model = Vec::new();
        for version in source.model.iter().filter(|part| part.number == field::IR_VERSION) {
            model.extend_from_slice(&version.whole);
        }
        for import in payloads(&source.model, field::OPSET_IMPORT) {
            add_field(&mut model, field::OPSET_IMPORT, import);
        }
        add_field(&mut model, field::GRAPH, &graph);
        Ok(model)
    }

    /// Whether the new node is faster than its operators: it writes fewer bytes (or fewer tensors, if the file does not
    /// state all shapes), or one of the operators is [`SLOW`]. Takes the size of its model's tensors from `left`.
    ///
    /// # Errors
    /// If the new node's model cannot be run.
    pub(super) fn gains(&self, source: &Source<'a>, left: &mut usize) -> Result<bool> {
        let Subgraph { members, written, outputs, .. } = self.subgraph;
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        let kind = |index: &usize| source.partition.nodes[*index].op_type.as_str();
        let is_slow = members.iter().any(|index| SLOW.contains(&kind(index)));
        // Runtimes do not run a subgraph without readers.
        if outputs.is_empty() || written.len() <= outputs.len() && !is_slow {
            return Ok(false);
        }
        let bytes =
            self.initializers.iter().filter_map(|name| source.partition.initializers.get(*name));
        let bytes = bytes.map(super::cost).fold(0, u64::saturating_add);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        *left = left.checked_sub(bytes).ok_or_else(|| {
            Error::Unsupported("the stored move would make the file too large".to_owned())
        })?;
        let types = self.inputs.iter().map(|name| source.element_type(name));
        let types = types.collect::<Result<Vec<_>>>()?;
        let resolve = |outputs: &[&str]| {
            let model = read_typed(self.model(source, outputs)?, &types)?;
            let shapes = self.inputs.iter().map(|name| source.shape(name));
            let Some(shapes) = shapes.collect::<Option<Vec<_>>>() else { return Ok(None) };
            if self.is_decided_later {
                return Ok(None);
            }
            let given = shapes.into_iter().map(|shape| Given { shape, data: None });
            model.resolve(&given.collect::<Vec<_>>()).map(Some)
        };
        let Some(fused) = resolve(&self.outputs)? else { return Ok(true) };
        let Some(each) = resolve(&written)? else { return Ok(true) };
        let bytes = |id: &TensorId| each.program().tensor(*id).bytes() as u64;
        let one_by_one = each.outputs().iter().map(bytes).fold(0, u64::saturating_add);
        let bytes = PlannedModel::new(fused, None)?.moved_bytes() as u64;
        Ok(bytes < one_by_one || is_slow && bytes == one_by_one)
    }
}

/// Encodes an initializer, including external data.
fn initializer(source: &Source, name: &str) -> Result<Bytes> {
    let Some(tensor) = source.partition.initializers.get(name) else {
        return Err(malformed(format!("no node gives {name:?}")));
    };
    if tensor.data_location != data_location::EXTERNAL {
        return Ok(source.tensors[name].clone());
    }
    let mut external = ExternalData::new(Some(&source.partition.folder), source.partition.links);
    let read = constant(tensor, &format!("initializer {name:?}"), &mut external)?;
    let raw_data = match read.data {
        Data::Bytes(bytes) => bytes,
        Data::Strings(_) => return Err(malformed("strings cannot be external data")),
    };
    let (dims, data_type, name) = (tensor.dims.clone(), tensor.data_type, tensor.name.clone());
    let own = proto::Tensor { dims, data_type, name, raw_data, ..proto::Tensor::default() };
    Ok(own.encode_to_vec().into())
}

/// Whether the nodes that compute the tensor `name` inside a new node may also stay in the graph: none of their outputs
/// may be an output of the new node. Each step takes one from `left`; returns false if none is left.
pub(super) fn is_apart(
    source: &Source,
    within: &HashMap<&str, usize>,
    name: &str,
    left: &mut usize,
) -> bool {
    let (mut seen, mut names) = (HashSet::new(), vec![name]);
    while let Some(name) = names.pop() {
        let Some(index) = source.graph.giver(name).filter(|_| within.contains_key(name)) else {
            continue;
        };
        if !seen.insert(index) {
            continue;
        }
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        let node = &source.partition.nodes[index];
        if !names_given(node).all(|given| within.contains_key(given)) {
            return false;
        }
        names.extend(node.input.iter().map(String::as_str));
    }
    true
}
