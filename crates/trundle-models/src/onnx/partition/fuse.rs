//! A model written anew with its movement-only subgraphs as nodes of their own. All else stays byte for byte.

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

/// The domain of the nodes, and the version of its operators.
const DOMAIN: &str = "trundle";
const VERSION: i64 = 1;

/// What all nodes may hold of the file's tensors together, as a multiple of the file's size: each holds what it needs,
/// and a small model must not become a large one.
const MOST_HELD: usize = 2;

/// What they may hold in any case, in bytes.
const LEAST_HELD: usize = 1 << 20;

/// How many nodes they may have together that only say shapes, as a multiple of the model's.
const MOST_STEPS: usize = 4;

/// How many they may have in any case.
const LEAST_STEPS: usize = 1 << 14;

/// A model in which subgraphs that only move are nodes of their own, `trundle.Move`, for ONNX Runtime with trundle's
/// operators.
#[derive(Debug)]
pub struct Fused {
    /// The bytes of the file, one after another. Those of the model that was read, if no subgraph is fused.
    pub file: Vec<Bytes>,
    /// The new nodes.
    pub nodes: Vec<FusedNode>,
    /// The subgraphs that could not be fused, by their operators, and why. Those that gain nothing are not among them.
    pub refused: Vec<(Vec<String>, Error)>,
    /// How many subgraphs stay as they are, as nothing is gained.
    pub unchanged: usize,
    /// Whether elements lie in other files, which the model finds in its folder only.
    pub is_external: bool,
}

/// A subgraph that became a node.
#[derive(Clone, Debug)]
pub struct FusedNode {
    /// What it is called.
    pub name: String,
    /// The operators that it does the work of, as messages call them.
    pub operators: Vec<String>,
    /// The names of the tensors that it reads.
    pub inputs: Vec<String>,
    /// The names of the tensors that it gives.
    pub outputs: Vec<String>,
    /// How many tensors a runtime wrote that ran one operator after another.
    pub written: usize,
}

impl Partition {
    /// The model with each subgraph as one node that is faster so: fewer bytes are written, or, where sizes are not known,
    /// fewer tensors, or ONNX Runtime is slow at one of its operators. What is no node of such a subgraph stays byte for byte.
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
        let is_external = source.external();
        let mut fused = Fused {
            file: vec![self.file.clone()],
            nodes: Vec::new(),
            refused,
            unchanged,
            is_external,
        };
        if !chosen.is_empty() {
            let rest = Rest::new(&source, &mut chosen);
            (fused.file, fused.nodes) = rest.file(&source, &chosen)?;
        }
        Ok(fused)
    }
}

/// What stays of a model beside the new nodes.
struct Rest<'a> {
    /// The places of the nodes that stay.
    nodes: BTreeSet<usize>,
    /// The names of all tensors that something reads.
    read: HashSet<&'a str>,
}

impl<'a> Rest<'a> {
    /// What the nodes that compute, the new ones and the model's user need.
    ///
    /// They may need the shape of a tensor that is not written any more. Where the model's shapes are fixed, a runtime knows
    /// it before it runs from the nodes as they were, which it then has no need to run; else the node gives it that the
    /// tensor is within.
    fn new(source: &Source<'a>, chosen: &mut [Candidate<'a>]) -> Rest<'a> {
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
            |place: &usize| !names_given(&nodes[*place]).any(|name| all_read.contains(name));
        let mut left: Vec<&str> = outputs.iter().map(String::as_str).collect();
        left.extend(chosen.iter().flat_map(|candidate| &candidate.inputs));
        let mut rest = Rest { nodes: BTreeSet::new(), read: HashSet::new() };
        for place in (0..nodes.len()).filter(|place| !fused.contains(place)) {
            if roles[place] != Role::Known || is_unread(&place) {
                rest.nodes.insert(place);
                left.extend(names_read(&nodes[place]));
            }
        }
        while let Some(name) = left.pop() {
            if !rest.read.insert(name) {
                continue;
            }
            let Some(place) = source.graph.giver(name) else { continue };
            if roles[place] != Role::Known && !within.contains_key(name) {
                continue;
            }
            let shape_of = nodes[place].input.first().filter(|_| says_shape(&nodes[place]));
            match shape_of.and_then(|of| Some((of, within.get(of.as_str())?))) {
                Some((of, number)) if !(is_fixed && is_apart(source, &within, of, &mut steps)) => {
                    chosen[*number].add_shape(place, name);
                }
                _ if rest.nodes.insert(place) => left.extend(names_read(&nodes[place])),
                _ => {}
            }
        }
        rest
    }

    /// The bytes of the file with the chosen nodes, and what they are.
    fn file(
        &self,
        source: &Source<'a>,
        chosen: &[Candidate<'a>],
    ) -> Result<(Vec<Bytes>, Vec<FusedNode>)> {
        let names = free_names(source, chosen.len());
        let mut graph = Vec::new();
        for place in self.order(source, chosen)? {
            graph.push(match place {
                Place::Kept(place) => message(field::NODE, &source.nodes[place]),
                Place::Chosen(number) => {
                    message(field::NODE, &node(source, &chosen[number], &names[number])?)
                }
            });
        }
        let held: HashSet<&str> = source.partition.nodes.iter().flat_map(names_read).collect();
        let mut tensors = source.partition.held_names.iter();
        for part in &source.fields {
            let stays = match part.number {
                field::NODE => false,
                // Not what nothing reads any more, of which runtimes complain, unless an input has it.
                field::INITIALIZER => tensors.next().is_none_or(|name| {
                    self.read.contains(name.as_str())
                        || !held.contains(name.as_str())
                        || source.partition.held_inputs.contains(name)
                }),
                _ => true,
            };
            if stays {
                graph.push(part.whole.clone());
            }
        }
        for name in chosen.iter().flat_map(|candidate| &candidate.outputs) {
            // Where no shape is known before it runs, ONNX Runtime finds the type here.
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

    /// An order in which all nodes can run, the file's where they are its own.
    fn order(&self, source: &Source<'a>, chosen: &[Candidate<'a>]) -> Result<Vec<Place>> {
        let kept = self.nodes.iter().map(|place| Place::Kept(*place));
        let mut places: Vec<Place> = kept.chain((0..chosen.len()).map(Place::Chosen)).collect();
        // A new node can run when the last of its own could.
        places.sort_by_key(|place| match place {
            Place::Kept(place) => Some(*place),
            Place::Chosen(of) => chosen[*of].subgraph.members.iter().max().copied(),
        });
        let mut giver: HashMap<&str, usize> = HashMap::new();
        for (number, place) in places.iter().enumerate() {
            let given = place.names_given(source, chosen);
            giver.extend(given.into_iter().map(|name| (name, number)));
        }
        let reads = |number: usize| {
            let read = places[number].names_read(source, chosen);
            read.into_iter().filter_map(|name| giver.get(name).copied()).collect::<Vec<_>>()
        };
        let name = |number: usize| format!("{:?}", places[number].names_given(source, chosen));
        let order = order::sorted(places.len(), reads, name)
            .map_err(|(_, problem)| Error::Unsupported(format!("not fused: {problem}")))?;
        Ok(order.into_iter().map(|number| places[number]).collect())
    }
}

/// The names of what subgraphs make on the way, each with its number: it is not written any more.
fn names_within<'a>(source: &Source<'a>, chosen: &[Candidate<'a>]) -> HashMap<&'a str, usize> {
    let mut within = HashMap::new();
    for (number, candidate) in chosen.iter().enumerate() {
        for place in &candidate.subgraph.members {
            let given = names_given(&source.partition.nodes[*place]);
            within.extend(given.map(|name| (name, number)));
        }
        candidate.outputs.iter().for_each(|name| _ = within.remove(name));
    }
    within
}

/// A node of the new file.
#[derive(Clone, Copy)]
enum Place {
    /// One of the file that was read.
    Kept(usize),
    /// A new one.
    Chosen(usize),
}

impl Place {
    /// The names of what it gives.
    fn names_given<'a>(self, source: &Source<'a>, chosen: &[Candidate<'a>]) -> Vec<&'a str> {
        match self {
            Place::Kept(place) => names_given(&source.partition.nodes[place]).collect(),
            Place::Chosen(of) => chosen[of].outputs.clone(),
        }
    }

    /// The names of what it reads.
    fn names_read<'a>(self, source: &Source<'a>, chosen: &[Candidate<'a>]) -> Vec<&'a str> {
        match self {
            Place::Kept(place) => names_read(&source.partition.nodes[place]),
            Place::Chosen(of) => chosen[of].inputs.clone(),
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What is said of a new node.
fn fused_node(candidate: &Candidate<'_>, name: String) -> FusedNode {
    let Subgraph { operators, written, .. } = candidate.subgraph;
    FusedNode {
        name,
        operators: operators.clone(),
        inputs: owned(&candidate.inputs),
        outputs: owned(&candidate.outputs),
        written: written.len(),
    }
}

/// The message of a new node.
fn node(source: &Source<'_>, candidate: &Candidate<'_>, name: &str) -> Result<Vec<u8>> {
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

/// What says that the model has nodes of our domain, if it does not yet.
fn import(source: &Source<'_>) -> Option<Bytes> {
    let is_ours = |import: &Bytes| {
        proto::OperatorSetId::decode(import.clone()).is_ok_and(|import| import.domain == DOMAIN)
    };
    if payloads(&source.model, field::OPSET_IMPORT).any(is_ours) {
        return None;
    }
    let import = proto::OperatorSetId { domain: DOMAIN.to_owned(), version: VERSION };
    Some(message(field::OPSET_IMPORT, &import.encode_to_vec()))
}

/// Names that no node has.
fn free_names(source: &Source<'_>, count: usize) -> Vec<String> {
    let taken: HashSet<&str> = source.partition.nodes.iter().map(|node| &node.name[..]).collect();
    let names = (0..).map(|number| format!("trundle_move_{number}"));
    names.filter(|name| !taken.contains(name.as_str())).take(count).collect()
}

/// A field of a message.
fn message(number: u32, bytes: &[u8]) -> Bytes {
    let mut whole = Vec::with_capacity(bytes.len() + 12);
    add_field(&mut whole, number, bytes);
    whole.into()
}
