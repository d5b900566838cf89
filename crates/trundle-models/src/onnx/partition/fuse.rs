//! Rewrites a model: each subgraph that only moves elements becomes a single node. All other bytes are
//! kept.

use std::collections::{BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use prost::Message;

use super::candidate::{Candidate, is_apart};
use super::graph::{names_given, names_read};
use super::role::{Role, says_shape};
use super::source::{Source, field};
use super::wire::{add_field, payloads, start_field};
use super::{Partition, Subgraph};
use crate::onnx::proto;
use crate::onnx::value_info::{named, without_shape};
use crate::{Error, Result, order};

const DOMAIN: &str = "trundle";
const VERSION: i64 = 1;

/// Limits the bytes of initializers in all new nodes, as a multiple of the file's size. Each node that needs a tensor
/// has a copy, and a small model must not become a large one.
const MOST_HELD: usize = 2;

/// The minimum of this limit, in bytes.
const LEAST_HELD: usize = 1 << 20;

/// Limits the steps that follow shapes through the model, as a multiple of the number of nodes.
const MOST_STEPS: usize = 4;

/// The minimum of this limit.
const LEAST_STEPS: usize = 1 << 14;

/// A model with `trundle.Move` nodes instead of movement-only subgraphs, for ONNX Runtime with trundle's operators.
#[derive(Debug)]
pub struct Fused {
    /// The file in pieces. If no subgraph was fused, this is the original model.
    pub file: Vec<Bytes>,
    /// The new nodes.
    pub nodes: Vec<FusedNode>,
    /// The subgraphs that could not be fused: their operators, and the reason. Excludes subgraphs without a gain.
    pub refused: Vec<(Vec<String>, Error)>,
    /// The number of subgraphs that were not fused because that would not be faster.
    pub unchanged: usize,
    /// Whether the model has external data. Then the new file must be in the same folder.
    pub is_external: bool,
}

/// A subgraph that became a node.
#[derive(Clone, Debug)]
pub struct FusedNode {
    /// The node's name.
    pub name: String,
    /// The names (as in messages) of the operators that it replaces.
    pub operators: Vec<String>,
    /// The names of its inputs.
    pub inputs: Vec<String>,
    /// The names of its outputs.
    pub outputs: Vec<String>,
    /// The number of tensors written if the original operators run one after another.
    pub written: usize,
}

impl Partition {
    /// Returns the model with each subgraph replaced by one node where that is faster.
    ///
    /// A node is faster if it writes fewer bytes (or fewer tensors, if sizes are unknown), or if ONNX
    /// Runtime is slow at one of the operators. All other nodes are kept byte for byte.
    ///
    /// # Errors
    /// If the model is malformed.
    pub fn fused(&self) -> Result<Fused> {
        let source = Source::new(self)?;
        let (mut chosen, mut refused, mut unchanged) = (Vec::new(), Vec::new(), 0);
        let mut left = LEAST_HELD + MOST_HELD * self.file.len();
        for subgraph in &self.subgraphs {
            let candidate = Candidate::new(&source, subgraph);
            match candidate.gains(&source, &mut left) {
                Ok(true) => chosen.push(candidate),
                Ok(false) => unchanged += 1,
                Err(error) => refused.push((subgraph.operators.clone(), error)),
            }
        }
        let (file, nodes) = match chosen.is_empty() {
            true => (vec![self.file.clone()], Vec::new()),
            false => KeptParts::new(&source, &mut chosen).file(&source, &chosen)?,
        };
        Ok(Fused { file, nodes, refused, unchanged, is_external: source.external() })
    }
}

/// What is kept of the original model.
struct KeptParts<'a> {
    nodes: BTreeSet<usize>,
    /// Tensors that a node or the caller reads.
    read: HashSet<&'a str>,
}

impl<'a> KeptParts<'a> {
    /// Finds the nodes of the original model that the computing nodes, the new nodes and the outputs need.
    ///
    /// A node that is kept may need the shape of a tensor that is no longer written. If the model's shapes
    /// are fixed, the nodes that make the tensor are kept, too: a runtime infers the shape from them and
    /// does not run them. Otherwise the new node that contains the tensor also returns the shape of the
    /// tensor.
    fn new(source: &Source<'a>, chosen: &mut [Candidate<'a>]) -> KeptParts<'a> {
        let Partition { nodes, roles, outputs, .. } = source.partition;
        let within = names_within(source, chosen);
        let members = chosen.iter().flat_map(|candidate| &candidate.subgraph.members);
        let fused: HashSet<usize> = members.copied().collect();
        let is_fixed = source.is_of_fixed_shapes();
        let mut steps = LEAST_STEPS + MOST_STEPS * nodes.len();
        for candidate in chosen.iter_mut() {
            candidate.find_shapes(source, &within, &mut steps);
        }
        let all_read: HashSet<&str> =
            nodes.iter().flat_map(names_read).chain(outputs.iter().map(String::as_str)).collect();
        let is_unread =
            |index: &usize| !names_given(&nodes[*index]).any(|name| all_read.contains(name));
        let mut left: Vec<&str> = outputs.iter().map(String::as_str).collect();
        left.extend(chosen.iter().flat_map(|candidate| &candidate.inputs));
        let mut kept = KeptParts { nodes: BTreeSet::new(), read: HashSet::new() };
        for index in (0..nodes.len()).filter(|index| !fused.contains(index)) {
            if roles[index] != Role::Known || is_unread(&index) {
                kept.nodes.insert(index);
                left.extend(names_read(&nodes[index]));
            }
        }
        while let Some(name) = left.pop() {
            if !kept.read.insert(name) {
                continue;
            }
            let Some(index) = source.graph.giver(name) else { continue };
            if roles[index] != Role::Known && !within.contains_key(name) {
                continue;
            }
            let shape_of = nodes[index].input.first().filter(|_| says_shape(&nodes[index]));
            match shape_of.and_then(|of| Some((of, within.get(of.as_str())?))) {
                Some((of, number)) if !(is_fixed && is_apart(source, &within, of, &mut steps)) => {
                    chosen[*number].add_shape(index, name);
                }
                _ if kept.nodes.insert(index) => left.extend(names_read(&nodes[index])),
                _ => {}
            }
        }
        kept
    }

    /// Builds the file with the chosen nodes, and describes them.
    fn file(
        &self,
        source: &Source<'a>,
        chosen: &[Candidate<'a>],
    ) -> Result<(Vec<Bytes>, Vec<FusedNode>)> {
        let names = free_names(source, chosen.len());
        let mut graph = Vec::new();
        for origin in self.order(source, chosen)? {
            graph.push(match origin {
                NodeOrigin::Kept(index) => message(field::NODE, &source.nodes[index]),
                NodeOrigin::Chosen(number) => {
                    message(field::NODE, &node(source, &chosen[number], &names[number])?)
                }
            });
        }
        let read: HashSet<&str> = source.partition.nodes.iter().flat_map(names_read).collect();
        let mut tensors = source.partition.initializer_names.iter();
        for part in &source.fields {
            let stays = match part.number {
                field::NODE => false,
                // Drops initializers that are no longer read, because runtimes warn about them, unless they are inputs.
                field::INITIALIZER => tensors.next().is_none_or(|name| {
                    self.read.contains(name.as_str())
                        || !read.contains(name.as_str())
                        || source.partition.initialized_inputs.contains(name)
                }),
                _ => true,
            };
            if stays {
                graph.push(part.whole.clone());
            }
        }
        for name in chosen.iter().flat_map(|candidate| &candidate.outputs) {
            // ONNX Runtime takes the type from here if it cannot infer the shape before it runs.
            if let Some(elem_type) = source.types.get(name)
                && !source.partition.infos.contains_key(*name)
            {
                let r#type = Some(without_shape(elem_type));
                let info = proto::ValueInfo { r#type, ..named(name) };
                graph.push(message(field::VALUE_INFO, &info.encode_to_vec()));
            }
        }
        let mut file = Vec::new();
        for part in &source.model {
            if part.number == field::GRAPH {
                let mut start = Vec::new();
                start_field(&mut start, field::GRAPH, graph.iter().map(Bytes::len).sum());
                file.push(start.into());
                file.append(&mut graph);
            } else {
                file.push(part.whole.clone());
            }
        }
        file.extend(import(source));
        let nodes = chosen.iter().zip(names).map(|(candidate, name)| fused_node(candidate, name));
        Ok((file, nodes.collect()))
    }

    /// A topological order of all nodes, like the file's where possible.
    fn order(&self, source: &Source<'a>, chosen: &[Candidate<'a>]) -> Result<Vec<NodeOrigin>> {
        let kept = self.nodes.iter().map(|index| NodeOrigin::Kept(*index));
        let mut origins: Vec<NodeOrigin> =
            kept.chain((0..chosen.len()).map(NodeOrigin::Chosen)).collect();
        // A new node comes where the last of its members was.
        origins.sort_by_key(|origin| match origin {
            NodeOrigin::Kept(index) => Some(*index),
            NodeOrigin::Chosen(of) => chosen[*of].subgraph.members.iter().max().copied(),
        });
        let mut giver: HashMap<&str, usize> = HashMap::new();
        for (number, origin) in origins.iter().enumerate() {
            let given = origin.names_given(source, chosen);
            giver.extend(given.into_iter().map(|name| (name, number)));
        }
        let reads = |number: usize| {
            let read = origins[number].names_read(source, chosen);
            read.into_iter().filter_map(|name| giver.get(name).copied()).collect::<Vec<_>>()
        };
        let name = |number: usize| format!("{:?}", origins[number].names_given(source, chosen));
        let order = order::sorted(origins.len(), reads, name)
            .map_err(|(_, problem)| Error::Unsupported(format!("not fused: {problem}")))?;
        Ok(order.into_iter().map(|number| origins[number]).collect())
    }
}

/// Tensors inside subgraphs, which are no longer written, with the index of the candidate.
fn names_within<'a>(source: &Source<'a>, chosen: &[Candidate<'a>]) -> HashMap<&'a str, usize> {
    let mut within = HashMap::new();
    for (number, candidate) in chosen.iter().enumerate() {
        for index in &candidate.subgraph.members {
            let given = names_given(&source.partition.nodes[*index]);
            within.extend(given.map(|name| (name, number)));
        }
        candidate.outputs.iter().for_each(|name| _ = within.remove(name));
    }
    within
}

#[derive(Clone, Copy)]
enum NodeOrigin {
    Kept(usize),
    /// A new node.
    Chosen(usize),
}

impl NodeOrigin {
    fn names_given<'a>(self, source: &Source<'a>, chosen: &[Candidate<'a>]) -> Vec<&'a str> {
        match self {
            NodeOrigin::Kept(index) => names_given(&source.partition.nodes[index]).collect(),
            NodeOrigin::Chosen(of) => chosen[of].outputs.clone(),
        }
    }

    fn names_read<'a>(self, source: &Source<'a>, chosen: &[Candidate<'a>]) -> Vec<&'a str> {
        match self {
            NodeOrigin::Kept(index) => names_read(&source.partition.nodes[index]),
            NodeOrigin::Chosen(of) => chosen[of].inputs.clone(),
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn fused_node(candidate: &Candidate, name: String) -> FusedNode {
    let Subgraph { operators, written, .. } = candidate.subgraph;
    FusedNode {
        name,
        operators: operators.clone(),
        inputs: owned(&candidate.inputs),
        outputs: owned(&candidate.outputs),
        written: written.len(),
    }
}

fn node(source: &Source, candidate: &Candidate, name: &str) -> Result<Vec<u8>> {
    let model = candidate.model(source, &candidate.outputs)?;
    let attribute = proto::Attribute {
        name: "model".to_owned(),
        s: Some(model.into()),
        r#type: proto::attribute_type::STRING,
        ..proto::Attribute::default()
    };
    let node = proto::Node {
        input: owned(&candidate.inputs),
        output: owned(&candidate.outputs),
        name: name.to_owned(),
        op_type: "Move".to_owned(),
        attribute: vec![attribute],
        domain: DOMAIN.to_owned(),
        ..proto::Node::default()
    };
    Ok(node.encode_to_vec())
}

/// `None` if the model already imports the domain `trundle`.
fn import(source: &Source) -> Option<Bytes> {
    let is_ours = |import: &Bytes| {
        proto::OperatorSetId::decode(import.clone()).is_ok_and(|import| import.domain == DOMAIN)
    };
    if payloads(&source.model, field::OPSET_IMPORT).any(is_ours) {
        return None;
    }
    let import = proto::OperatorSetId { domain: DOMAIN.to_owned(), version: VERSION };
    Some(message(field::OPSET_IMPORT, &import.encode_to_vec()))
}

fn free_names(source: &Source, count: usize) -> Vec<String> {
    let taken: HashSet<&str> = source.partition.nodes.iter().map(|node| &node.name[..]).collect();
    let names = (0..).map(|number| format!("trundle_move_{number}"));
    names.filter(|name| !taken.contains(name.as_str())).take(count).collect()
}

fn message(number: u32, bytes: &[u8]) -> Bytes {
    let mut whole = Vec::with_capacity(bytes.len() + 12);
    add_field(&mut whole, number, bytes);
    whole.into()
}
