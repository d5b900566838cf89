//! The parts of a model that only move, where others compute.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use trundle_core::Shape;

use super::builder::label;
use super::external::ExternalData;
use super::functions::Functions;
use super::operators::forms;
use super::unsupported::unsupported;
use super::value_info::tensor_type;
use super::{decode, malformed, model_of, opsets, proto};
use crate::links::folder_of;
use crate::{Dimension, Error, Input, Links, Model, PartialShape, Result, ValueId, order};

/// The inputs that operators move; all others say how.
const MOVED_INPUTS: [&str; 7] =
    ["X", "data", "input", "input_data", "past_cache", "update", "updates"];

/// Operators that give the elements that they read, in the same order: no runtime moves any for them.
const VIEWS: [&str; 6] = ["Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];

/// How often the subgraphs may read what says how they move, as a multiple of the model's size: each reads what it needs,
/// and a small model must not take long.
const MOST_SHARED: u64 = 64;

/// What they may read in any case, in bytes: elements in files beside the model count too.
const LEAST_SHARED: u64 = 4 << 30;

/// An ONNX model that computes, and the subgraphs of it that only move.
///
/// A subgraph is as large as it can be: operators that move, of which each reads what another gives. What shapes and
/// constants say, as sizes and axes, belongs to each subgraph that needs it.
#[derive(Debug)]
pub struct Partition {
    name: String,
    opset: Option<i64>,
    inputs: Vec<Input>,
    nodes: Vec<proto::Node>,
    /// The tensors that the file holds, by their names.
    held: HashMap<String, proto::Tensor>,
    /// What the file says of all others, by their names.
    infos: HashMap<String, proto::ValueInfo>,
    folder: PathBuf,
    links: Links,
    others: BTreeMap<String, usize>,
    views: usize,
    subgraphs: Vec<Subgraph>,
}

/// A part of a model that only moves.
#[derive(Debug)]
pub struct Subgraph {
    /// Its operators that move, as messages call them, in an order in which they can run.
    pub operators: Vec<String>,
    /// The names of the tensors that it reads: inputs of the model, and what others compute.
    pub inputs: Vec<String>,
    /// The names of the tensors that others read, or that the model gives.
    pub outputs: Vec<String>,
    /// The names of the tensors that a runtime writes which runs one operator after another.
    pub written: Vec<String>,
    /// The places of its nodes, with those that say how they move.
    nodes: Vec<usize>,
}

/// What a node does with elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// What it gives is known before anything runs.
    Known,
    Moves,
    Computes,
}

impl Partition {
    /// Reads the ONNX model `path`. External data may be links to these places, and is not read yet.
    ///
    /// # Errors
    /// If it cannot be read or is malformed.
    pub fn read(path: &Path, links: Links) -> Result<Partition> {
        let bytes = fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Partition::read_bytes(bytes, folder_of(path), links).map_err(|error| error.within(path))
    }

    pub(super) fn read_bytes(bytes: Vec<u8>, folder: &Path, links: Links) -> Result<Partition> {
        let (model, graph) = decode(bytes)?;
        let mut held = HashMap::with_capacity(graph.initializer.len());
        for tensor in graph.initializer {
            if let Some(twice) = held.insert(tensor.name.clone(), tensor) {
                return Err(malformed(format!("initializer {:?} is there twice", twice.name)));
            }
        }
        let given = graph.input.iter().filter(|info| !held.contains_key(&info.name));
        let input = |(number, info): (usize, &proto::ValueInfo)| {
            let (element, shape) = tensor_type(info, &format!("input {:?}", info.name))?;
            Ok(Input { name: info.name.clone(), element, shape, value: ValueId(number) })
        };
        let inputs = given.enumerate().map(input).collect::<Result<_>>()?;
        let outputs: Vec<String> = graph.output.iter().map(|info| info.name.clone()).collect();
        let infos = graph.value_info.into_iter().chain(graph.output).chain(graph.input);
        let mut partition = Partition {
            name: graph.name,
            opset: opsets(&model)?.onnx(),
            inputs,
            nodes: graph.node,
            held,
            infos: infos.map(|info| (info.name.clone(), info)).collect(),
            folder: folder.to_owned(),
            links,
            others: BTreeMap::new(),
            views: 0,
            subgraphs: Vec::new(),
        };
        partition.divide(&Functions::new(&model.functions)?, &outputs)?;
        Ok(partition)
    }

    /// What the model calls itself; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many nodes the model has.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The operators that do not only move, as messages call them, with how many nodes there are of each.
    pub fn others(&self) -> impl Iterator<Item = (&str, usize)> {
        self.others.iter().map(|(name, count)| (&name[..], *count))
    }

    /// How many nodes only give a tensor another shape, of those that belong to no subgraph.
    pub fn views(&self) -> usize {
        self.views
    }

    /// The subgraphs that move elements, in an order in which they can run.
    pub fn subgraphs(&self) -> &[Subgraph] {
        &self.subgraphs
    }

    /// The model's inputs, in its order.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The sizes that have a name, of the model's inputs by theirs.
    ///
    /// # Errors
    /// If the model has no such input, or what it says of one does not fit.
    pub fn sizes(&self, shapes: &[(&str, Shape)]) -> Result<HashMap<String, usize>> {
        let mut sizes = HashMap::new();
        for (name, shape) in shapes {
            let Some(input) = self.inputs.iter().find(|input| input.name == *name) else {
                return Err(Error::Input(format!("the model has no input {name:?}")));
            };
            if !bind(&input.shape, shape, &mut sizes) {
                let stated = &input.shape;
                let problem = format!("input {name:?} is {stated}, and {shape} is given");
                return Err(Error::Input(problem));
            }
        }
        Ok(sizes)
    }

    /// Adds to `sizes` those with a name that a tensor of this name and shape has: what a subgraph gives says what those
    /// after it read.
    pub fn add_sizes(&self, name: &str, shape: &Shape, sizes: &mut HashMap<String, usize>) {
        let stated = self.infos.get(name).map(|info| tensor_type(info, name));
        if let Some(Ok((_, stated))) = stated {
            bind(&stated, shape, sizes);
        }
    }

    /// The model of a subgraph that gives these of its tensors, where named sizes are these.
    ///
    /// # Errors
    /// If the model does not say the type of what the subgraph reads, or one of its nodes is malformed or not supported in
    /// its form.
    pub fn model(
        &self,
        subgraph: &Subgraph,
        outputs: &[String],
        sizes: &HashMap<String, usize>,
    ) -> Result<Model> {
        let node: Vec<proto::Node> =
            subgraph.nodes.iter().map(|place| self.nodes[*place].clone()).collect();
        let made: HashSet<&str> = node.iter().flat_map(names_given).collect();
        let read: BTreeSet<&String> = node.iter().flat_map(|node| &node.input).collect();
        let (mut initializer, mut input) = (Vec::new(), Vec::new());
        for name in read.into_iter().filter(|name| !name.is_empty()) {
            if let Some(tensor) = self.held.get(name) {
                initializer.push(tensor.clone());
            } else if !made.contains(name.as_str()) {
                let info = self.infos.get(name).ok_or_else(|| {
                    Error::Input(format!("the model does not say the type of {name:?}"))
                })?;
                input.push(with_sizes(info, sizes));
            }
        }
        let output =
            outputs.iter().map(|name| proto::ValueInfo { name: name.clone(), r#type: None });
        let (name, output) = (self.name.clone(), output.collect());
        let graph =
            proto::Graph { node, name, initializer, input, output, ..proto::Graph::default() };
        let external = ExternalData::new(Some(&self.folder), self.links);
        // Calls of functions do not only move.
        model_of(&graph, Functions::new(&[])?, self.opset, external)
    }

    /// Finds out what each node does, and which of those that move belong together.
    fn divide(&mut self, functions: &Functions<'_>, outputs: &[String]) -> Result<()> {
        let graph = Graph::new(&self.nodes)?;
        let sorted = graph.sorted()?;
        let mut others = BTreeMap::new();
        let mut known: HashSet<&str> = self.held.keys().map(String::as_str).collect();
        let mut roles = vec![Role::Computes; self.nodes.len()];
        for place in &sorted {
            let node = &self.nodes[*place];
            let (role, name) = role(node, functions, &known);
            roles[*place] = role;
            match role {
                Role::Known => known.extend(names_given(node)),
                Role::Moves => {}
                Role::Computes => *others.entry(name).or_default() += 1,
            }
        }

        let readers = graph.readers(outputs);
        // Not what the file only claims, as what lies beside it.
        let held = self.held.values().map(proto::Tensor::encoded_len);
        let file: usize = self.nodes.iter().map(proto::Node::encoded_len).chain(held).sum();
        let mut left = LEAST_SHARED + MOST_SHARED * file as u64;
        let mut views = 0;
        let mut subgraphs = Vec::new();
        for members in graph.components(&sorted, &roles) {
            if members.iter().all(|place| is_view(&self.nodes[*place])) {
                views += members.len();
                continue;
            }
            let nodes = graph.with_known(&members, &roles);
            let costs = nodes.iter().map(|place| self.cost_of_node(&self.nodes[*place]));
            let cost = costs.fold(0, u64::saturating_add);
            left = left.checked_sub(cost).ok_or_else(|| {
                Error::Unsupported(format!(
                    "its {} and more subgraphs read the same tensors too often",
                    subgraphs.len()
                ))
            })?;
            subgraphs.push(self.subgraph(&members, nodes, &readers, &known));
        }
        (self.others, self.views, self.subgraphs) = (others, views, subgraphs);
        Ok(())
    }

    /// About how many bytes it takes to read a node, with the tensors of the file that it reads.
    fn cost_of_node(&self, node: &proto::Node) -> u64 {
        let held = node.input.iter().filter_map(|name| self.held.get(name));
        held.map(cost).fold(node.encoded_len() as u64, u64::saturating_add)
    }

    /// The subgraph of these nodes that move, of `nodes` with others that say how.
    fn subgraph(
        &self,
        members: &[usize],
        nodes: Vec<usize>,
        readers: &HashMap<&str, Vec<usize>>,
        known: &HashSet<&str>,
    ) -> Subgraph {
        let of = |place: &usize| &self.nodes[*place];
        let own: HashSet<usize> = members.iter().copied().collect();
        let given: Vec<&str> = members.iter().map(of).flat_map(names_given).collect();
        let is_read = |name: &&str| {
            readers
                .get(name)
                .is_some_and(|readers| readers.iter().any(|place| !own.contains(place)))
        };
        let mut seen: HashSet<&str> = given.iter().copied().collect();
        let read = members.iter().map(of).flat_map(|node| &node.input).map(String::as_str);
        let read = read.filter(|name| !name.is_empty() && !known.contains(name));
        let written = members.iter().map(of).filter(|node| !is_view(node)).flat_map(names_given);
        Subgraph {
            operators: members.iter().map(of).map(|node| label(node, "")).collect(),
            inputs: read.filter(|name| seen.insert(name)).map(str::to_owned).collect(),
            outputs: given.into_iter().filter(is_read).map(str::to_owned).collect(),
            written: written.map(str::to_owned).collect(),
            nodes,
        }
    }
}

/// Nodes, and which gives what.
struct Graph<'a> {
    nodes: &'a [proto::Node],
    giver: HashMap<&'a str, usize>,
}

impl<'a> Graph<'a> {
    fn new(nodes: &'a [proto::Node]) -> Result<Graph<'a>> {
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

    /// The places of the nodes that a node reads.
    fn reads(&self, place: usize) -> Vec<usize> {
        let names = names_read(&self.nodes[place]);
        names.into_iter().filter_map(|name| self.giver.get(name).copied()).collect()
    }

    /// The places of all nodes so that none reads what a later one gives.
    fn sorted(&self) -> Result<Vec<usize>> {
        let named = |place: usize| label(&self.nodes[place], "");
        order::sorted(self.nodes.len(), |place| self.reads(place), named)
            .map_err(|(place, problem)| Error::Node { node: named(place), problem })
    }

    /// The places of the nodes that read each tensor. The model's user, who reads its outputs, stands behind the last.
    fn readers<'b>(&'b self, outputs: &'b [String]) -> HashMap<&'b str, Vec<usize>> {
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            names_read(node)
                .into_iter()
                .for_each(|name| readers.entry(name).or_default().push(place));
        }
        outputs.iter().for_each(|name| readers.entry(name).or_default().push(self.nodes.len()));
        readers
    }

    /// The nodes that move, those together of which one reads what another gives; each in order.
    fn components(&self, sorted: &[usize], roles: &[Role]) -> Vec<Vec<usize>> {
        let moves = |place: &usize| roles[*place] == Role::Moves;
        let mut first: Vec<usize> = (0..self.nodes.len()).collect();
        for place in sorted.iter().copied().filter(moves) {
            for read in self.reads(place).into_iter().filter(moves) {
                let (one, other) = (root(&mut first, read), root(&mut first, place));
                first[one.max(other)] = one.min(other);
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in sorted.iter().copied().filter(moves) {
            members.entry(root(&mut first, place)).or_default().push(place);
        }
        members.into_values().collect()
    }

    /// These nodes, and all that say how they move, in the file's order.
    fn with_known(&self, members: &[usize], roles: &[Role]) -> Vec<usize> {
        let mut all: BTreeSet<usize> = members.iter().copied().collect();
        let mut left = members.to_vec();
        while let Some(place) = left.pop() {
            let known = self.reads(place).into_iter().filter(|read| roles[*read] == Role::Known);
            left.extend(known.filter(|read| all.insert(*read)));
        }
        all.into_iter().collect()
    }
}

/// Adds the sizes that have names, where a tensor of which this is stated has this shape; whether it can have it.
fn bind(stated: &PartialShape, shape: &Shape, sizes: &mut HashMap<String, usize>) -> bool {
    let PartialShape::Ranked(dimensions) = stated else { return true };
    let fits = |(dimension, size): (&Dimension, &usize)| match dimension {
        Dimension::Named(name) => *sizes.entry(name.clone()).or_insert(*size) == *size,
        Dimension::Fixed(fixed) => fixed == size,
        Dimension::Between { .. } => true,
    };
    dimensions.len() == shape.rank() && dimensions.iter().zip(shape.sizes()).all(fits)
}

/// What a node does, where these tensors are known; and what it is called if it computes.
fn role<'a>(
    node: &'a proto::Node,
    functions: &Functions<'a>,
    known: &HashSet<&str>,
) -> (Role, String) {
    if functions.called_by(node).is_some() {
        return (Role::Computes, format!("function {}", node.op_type.escape_debug()));
    }
    if let Some((_, name)) = unsupported(node) {
        return (Role::Computes, name);
    }
    let kind = node.op_type.as_str();
    let is_known = |name: &String| name.is_empty() || known.contains(name.as_str());
    if matches!(kind, "Shape" | "Size") || node.input.iter().all(is_known) {
        return (Role::Known, String::new());
    }
    let Some(names) = moved_inputs(kind) else { return (Role::Computes, kind.to_owned()) };
    let others = node.input.iter().zip(names.into_iter().chain(std::iter::repeat(None)));
    match others
        .filter_map(|(input, name)| Some((input, name?)))
        .find(|(input, _)| !is_known(input))
    {
        None => (Role::Moves, String::new()),
        Some((_, name)) => (Role::Computes, format!("{kind} with computed {name}")),
    }
}

/// For each input of an operator that moves its name, unless it is one of what it moves; `None` for an operator that
/// reckons with numbers.
fn moved_inputs(kind: &str) -> Option<Vec<Option<&'static str>>> {
    if super::arithmetic::is_arithmetic(kind) || matches!(kind, "ConstantOfShape" | "Range") {
        return None;
    }
    let form = forms(kind)
        .max_by_key(|form| form.inputs.map_or(0, |[all, more]| all.len() + more.len()))?;
    let names = form.inputs.unwrap_or_default().concat();
    Some(names.into_iter().map(|name| (!MOVED_INPUTS.contains(&name)).then_some(name)).collect())
}

fn is_view(node: &proto::Node) -> bool {
    VIEWS.contains(&node.op_type.as_str())
}

/// The names of what a node gives.
fn names_given(node: &proto::Node) -> impl Iterator<Item = &str> {
    node.output.iter().map(String::as_str).filter(|name| !name.is_empty())
}

/// The names of what a node reads, its branches and bodies too.
fn names_read(node: &proto::Node) -> Vec<&str> {
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

/// About how many bytes it takes to read a tensor that the file holds, or that lies beside it.
fn cost(tensor: &proto::Tensor) -> u64 {
    let sizes = tensor.dims.iter().map(|size| size.unsigned_abs());
    let elements = match &tensor.external_data[..] {
        [] => 0,
        _ => sizes.fold(1u64, u64::saturating_mul),
    };
    (tensor.encoded_len() as u64).saturating_add(elements.saturating_mul(8))
}

/// What the file says of a tensor, with sizes in place of their names.
fn with_sizes(info: &proto::ValueInfo, sizes: &HashMap<String, usize>) -> proto::ValueInfo {
    let mut info = info.clone();
    let tensor = info.r#type.as_mut().and_then(|r#type| r#type.tensor.as_mut());
    for dim in
        tensor.and_then(|tensor| tensor.shape.as_mut()).into_iter().flat_map(|shape| &mut shape.dim)
    {
        let size = dim.dim_param.as_ref().and_then(|name| sizes.get(name));
        if let Some(size) = size.and_then(|size| i64::try_from(*size).ok()) {
            *dim = proto::Dimension { dim_value: Some(size), dim_param: None };
        }
    }
    info
}
