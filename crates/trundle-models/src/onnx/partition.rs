//! The parts of a model that only move, where others compute.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use prost::bytes::Bytes;
use trundle_core::Shape;

use super::builder::label;
use super::external::ExternalData;
use super::functions::Functions;
use super::operators::forms;
use super::unsupported::unsupported;
use super::value_info::tensor_type;
use super::{malformed, model_of, opsets, proto};
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
    graph: proto::Graph,
    model: proto::Model,
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
        let mut model = proto::Model::decode(Bytes::from(bytes))
            .map_err(|error| malformed(format!("not an ONNX model: {error}")))?;
        opsets(&model)?;
        let graph = model.graph.take().ok_or_else(|| malformed("the model has no graph"))?;
        let mut partition = Partition {
            graph,
            model,
            folder: folder.to_owned(),
            links,
            others: BTreeMap::new(),
            views: 0,
            subgraphs: Vec::new(),
        };
        partition.divide()?;
        Ok(partition)
    }

    /// What the model calls itself; may be empty.
    pub fn name(&self) -> &str {
        &self.graph.name
    }

    /// How many nodes the model has.
    pub fn nodes(&self) -> usize {
        self.graph.node.len()
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
    ///
    /// # Errors
    /// If it says nothing of one, or what makes no sense.
    pub fn inputs(&self) -> Result<Vec<Input>> {
        let held = self.held();
        let given = self.graph.input.iter().filter(|info| !held.contains(info.name.as_str()));
        let of = |(number, info): (usize, &proto::ValueInfo)| {
            let (element, shape) = tensor_type(info, &format!("input {:?}", info.name))?;
            Ok(Input { name: info.name.clone(), element, shape, value: ValueId(number) })
        };
        given.enumerate().map(of).collect()
    }

    /// The sizes that have a name, of the model's inputs by theirs.
    ///
    /// # Errors
    /// If the model has no such input, or what it says of one does not fit.
    pub fn sizes(&self, shapes: &[(&str, Shape)]) -> Result<HashMap<String, usize>> {
        let inputs = self.inputs()?;
        let mut sizes = HashMap::new();
        for (name, shape) in shapes {
            let Some(input) = inputs.iter().find(|input| input.name == *name) else {
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
        let mut infos = self.graph.value_info.iter().chain(&self.graph.output);
        let info = infos.find(|info| info.name == name);
        if let Some(Ok((_, stated))) = info.map(|info| tensor_type(info, name)) {
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
        let nodes: Vec<proto::Node> =
            subgraph.nodes.iter().map(|node| self.graph.node[*node].clone()).collect();
        let reads: HashSet<&str> =
            nodes.iter().flat_map(|node| &node.input).map(String::as_str).collect();
        let read = |tensor: &&proto::Tensor| reads.contains(tensor.name.as_str());
        let initializer = self.graph.initializer.iter().filter(read).cloned().collect();
        let held = self.held();
        let mut made: HashSet<&str> = nodes.iter().flat_map(names_given).collect();
        made.extend(held.iter().copied());
        let mut given: Vec<&str> = reads.iter().copied().collect();
        given.retain(|name| !name.is_empty() && !made.contains(name));
        given.sort_unstable();
        let infos: HashMap<&str, &proto::ValueInfo> = self
            .graph
            .value_info
            .iter()
            .chain(&self.graph.output)
            .chain(&self.graph.input)
            .map(|info| (info.name.as_str(), info))
            .collect();
        let mut input = Vec::with_capacity(given.len());
        for name in given {
            let info = infos.get(name).ok_or_else(|| {
                Error::Input(format!("the model does not say the type of {name:?}"))
            })?;
            input.push(with_sizes(info, sizes));
        }
        let output =
            outputs.iter().map(|name| proto::ValueInfo { name: name.clone(), r#type: None });
        let graph = proto::Graph {
            input,
            output: output.collect(),
            initializer,
            name: self.graph.name.clone(),
            node: nodes,
            ..proto::Graph::default()
        };
        let functions = Functions::new(&self.model.functions)?;
        let external = ExternalData::new(Some(&self.folder), self.links);
        model_of(&graph, functions, &opsets(&self.model)?, external)
    }

    /// The names of the tensors that the file holds.
    fn held(&self) -> HashSet<&str> {
        self.graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect()
    }

    /// Finds out what each node does, and which belong together.
    fn divide(&mut self) -> Result<()> {
        let nodes = &self.graph.node;
        let mut giver: HashMap<&str, usize> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            for name in names_given(node) {
                if giver.insert(name, place).is_some() {
                    return Err(malformed(format!("two nodes give {name:?}")));
                }
            }
        }
        let reads = |place: usize| {
            nodes[place].input.iter().filter_map(|name| giver.get(name.as_str()).copied())
        };
        let sorted = order::sorted(nodes.len(), reads, |place| label(&nodes[place], ""));
        let sorted = sorted
            .map_err(|(place, problem)| Error::Node { node: label(&nodes[place], ""), problem })?;

        let mut known = self.held();
        let functions = Functions::new(&self.model.functions)?;
        let mut others = BTreeMap::new();
        let mut roles = vec![Role::Computes; nodes.len()];
        for place in &sorted {
            let node = &nodes[*place];
            let (role, name) = role(node, &functions, &known);
            roles[*place] = role;
            match role {
                Role::Known => known.extend(names_given(node)),
                Role::Moves => {}
                Role::Computes => *others.entry(name).or_default() += 1,
            }
        }

        // Those that move are one with what they read, where that moves too.
        let mut first = (0..nodes.len()).collect::<Vec<_>>();
        for place in &sorted {
            if roles[*place] == Role::Moves {
                for read in reads(*place).filter(|read| roles[*read] == Role::Moves) {
                    let (one, other) = (root(&mut first, read), root(&mut first, *place));
                    first[one.max(other)] = one.min(other);
                }
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in &sorted {
            if roles[*place] == Role::Moves {
                members.entry(root(&mut first, *place)).or_default().push(*place);
            }
        }

        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            node.input.iter().for_each(|name| readers.entry(name).or_default().push(place));
        }
        // The model's user reads its outputs.
        let user = nodes.len();
        self.graph.output.iter().for_each(|info| readers.entry(&info.name).or_default().push(user));

        let costs: HashMap<&str, u64> = self
            .graph
            .initializer
            .iter()
            .map(|tensor| (tensor.name.as_str(), cost(tensor)))
            .collect();
        let most = LEAST_SHARED + MOST_SHARED * self.graph.encoded_len() as u64;
        let mut shared = 0u64;
        let mut views = 0;
        let mut subgraphs = Vec::new();
        for members in members.into_values() {
            if members.iter().all(|place| is_view(&nodes[*place])) {
                views += members.len();
                continue;
            }
            let own: HashSet<usize> = members.iter().copied().collect();
            let all = with_known(&members, reads, &roles);
            for node in all.iter().map(|place| &nodes[*place]) {
                let read = node.input.iter().filter_map(|name| costs.get(name.as_str()));
                shared = shared.saturating_add(node.encoded_len() as u64);
                shared = read.fold(shared, |sum, cost| sum.saturating_add(*cost));
            }
            if shared > most {
                return Err(Error::Unsupported(format!(
                    "its {} and more subgraphs read over {most} bytes of what says how they move",
                    subgraphs.len()
                )));
            }
            subgraphs.push(self.subgraph(
                &members,
                all,
                |name| {
                    let outside = |place: &usize| !own.contains(place);
                    readers.get(name).is_some_and(|readers| readers.iter().any(outside))
                },
                &known,
            ));
        }
        (self.others, self.views, self.subgraphs) = (others, views, subgraphs);
        Ok(())
    }

    /// The subgraph of these nodes that move, of `nodes` with others that say how; `is_read` says of what they give whether
    /// others read it.
    fn subgraph(
        &self,
        members: &[usize],
        nodes: Vec<usize>,
        is_read: impl Fn(&str) -> bool,
        known: &HashSet<&str>,
    ) -> Subgraph {
        let of = |place: &usize| &self.graph.node[*place];
        let mut seen: HashSet<&str> = members.iter().map(of).flat_map(names_given).collect();
        let read = members.iter().map(of).flat_map(|node| &node.input).map(String::as_str);
        let read = read.filter(|name| !name.is_empty() && !known.contains(name));
        let inputs = read.filter(|name| seen.insert(name)).map(str::to_owned).collect();
        let names = |nodes: &mut dyn Iterator<Item = &proto::Node>| {
            nodes.flat_map(names_given).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut outputs = names(&mut members.iter().map(of));
        outputs.retain(|name| is_read(name));
        let written = names(&mut members.iter().map(of).filter(|node| !is_view(node)));
        let operators = members.iter().map(of).map(|node| label(node, "")).collect();
        Subgraph { operators, inputs, outputs, written, nodes }
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

/// The least place of those that are one with `place`.
fn root(first: &mut [usize], mut place: usize) -> usize {
    while first[place] != place {
        first[place] = first[first[place]];
        place = first[place];
    }
    place
}

/// These nodes, and all that say how they move, in the file's order.
fn with_known<I: Iterator<Item = usize>>(
    members: &[usize],
    reads: impl Fn(usize) -> I,
    roles: &[Role],
) -> Vec<usize> {
    let mut all: HashSet<usize> = members.iter().copied().collect();
    let mut left = members.to_vec();
    while let Some(place) = left.pop() {
        for read in reads(place).filter(|read| roles[*read] == Role::Known) {
            if all.insert(read) {
                left.push(read);
            }
        }
    }
    let mut all: Vec<usize> = all.into_iter().collect();
    all.sort_unstable();
    all
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
