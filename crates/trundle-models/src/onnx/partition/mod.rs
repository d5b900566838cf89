//! Finds the parts of a computing model that only move elements.

mod candidate;
mod element_types;
mod fuse;
mod graph;
mod role;
mod source;
mod wire;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message;
use trundle_core::Shape;
use trundle_formats::folder_of;

use super::builder::label;
use super::external::ExternalData;
use super::functions::Functions;
use super::value_info::{named, tensor_type};
use super::{decode, malformed, model_of, opset, proto};
use crate::{Dimension, Error, Input, Links, Model, PartialShape, Result, ValueId};

use graph::{Graph, names_given};
use role::{Role, is_view, role};

pub use fuse::{Fused, FusedNode};

/// Limits the bytes that all subgraphs together may read, as a multiple of the model's size. Each subgraph that needs a
/// tensor reads it again, and a small model must not take long.
const MOST_SHARED: u64 = 64;

/// The constant part of the limit on bytes read: external data counts, too, but is not part of the model's size.
const LEAST_SHARED: u64 = 4 << 30;

/// An ONNX model that computes, and its subgraphs that only move elements.
///
/// A subgraph is as large as possible: operators that are connected without computation in between, so that they can
/// become one operator. Nodes that compute sizes or axes from shapes and constants belong to every subgraph that needs
/// them.
#[derive(Debug)]
pub struct Partition {
    file: Bytes,
    name: String,
    opset: Option<i64>,
    inputs: Vec<Input>,
    outputs: Vec<String>,
    nodes: Vec<proto::Node>,
    roles: Vec<Role>,
    initializers: HashMap<String, proto::Tensor>,
    /// The names of the initializers, in the file's order.
    initializer_names: Vec<String>,
    initialized_inputs: HashSet<String>,
    has_defaults: bool,
    /// The types and shapes that the file states for values, by name.
    infos: HashMap<String, proto::ValueInfo>,
    folder: PathBuf,
    links: Links,
    others: BTreeMap<String, usize>,
    views: usize,
    subgraphs: Vec<Subgraph>,
}

/// A part of a model that only moves elements.
#[derive(Debug)]
pub struct Subgraph {
    /// The labels of the moving operators, as in messages, in topological order.
    pub operators: Vec<String>,
    /// The tensors that the subgraph reads: inputs of the model, and outputs of computing nodes.
    pub inputs: Vec<String>,
    /// The tensors that other nodes read, or that are outputs of the model.
    pub outputs: Vec<String>,
    /// The tensors that a runtime writes if it runs one operator after another.
    pub written: Vec<String>,
    /// Nodes that move.
    members: Vec<usize>,
    /// Nodes that move or decide how elements are moved.
    nodes: Vec<usize>,
}

impl Partition {
    /// Reads the ONNX model `path`, without its external data. External data may be links to destinations that `links`
    /// allows.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn read(path: &Path, links: Links) -> Result<Partition> {
        let bytes = fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Partition::read_bytes(bytes, folder_of(path), links).map_err(|error| error.within(path))
    }

    /// Reads a model from memory, with external data in `folder`.
    ///
    /// # Errors
    /// As [`Partition::read`].
    pub fn read_bytes(bytes: Vec<u8>, folder: &Path, links: Links) -> Result<Partition> {
        let file = Bytes::from(bytes);
        let (model, graph) = decode(file.clone())?;
        let initializer_names: Vec<String> =
            graph.initializer.iter().map(|tensor| tensor.name.clone()).collect();
        let mut initializers = HashMap::with_capacity(graph.initializer.len());
        for tensor in graph.initializer {
            if let Some(twice) = initializers.insert(tensor.name.clone(), tensor) {
                return Err(malformed(format!("initializer {:?} is there twice", twice.name)));
            }
        }
        let given = graph.input.iter().filter(|info| !initializers.contains_key(&info.name));
        let input = |(number, info): (usize, &proto::ValueInfo)| {
            let (element, shape) = tensor_type(info, &format!("input {:?}", info.name))?;
            Ok(Input { name: info.name.clone(), element, shape, value: ValueId(number) })
        };
        let inputs = given.enumerate().map(input).collect::<Result<_>>()?;
        let names = graph.input.iter().map(|info| &info.name);
        let initialized_inputs =
            names.filter(|name| initializers.contains_key(*name)).cloned().collect();
        let outputs: Vec<String> = graph.output.iter().map(|info| info.name.clone()).collect();
        let infos = graph.value_info.into_iter().chain(graph.output).chain(graph.input);
        let mut partition = Partition {
            file,
            name: graph.name,
            opset: opset(&model)?,
            inputs,
            outputs,
            roles: vec![Role::Computes; graph.node.len()],
            nodes: graph.node,
            initializers,
            initializer_names,
            initialized_inputs,
            // Before IR version 4, every initializer also had to be an input, which callers could not override.
            has_defaults: model.ir_version.is_some_and(|version| version >= 4),
            infos: infos.map(|info| (info.name.clone(), info)).collect(),
            folder: folder.to_owned(),
            links,
            others: BTreeMap::new(),
            views: 0,
            subgraphs: Vec::new(),
        };
        partition.divide(&Functions::new(&model.functions)?)?;
        Ok(partition)
    }

    /// Returns the model's name, which may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of nodes in the model.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the operators that compute (as in messages), with their numbers of nodes.
    pub fn others(&self) -> impl Iterator<Item = (&str, usize)> {
        self.others.iter().map(|(name, count)| (&name[..], *count))
    }

    /// Returns the number of nodes that only change a shape and belong to no subgraph.
    pub fn views(&self) -> usize {
        self.views
    }

    /// Returns the subgraphs that move elements, in topological order.
    pub fn subgraphs(&self) -> &[Subgraph] {
        &self.subgraphs
    }

    /// Returns the model's inputs, in the order of the file.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the named sizes, for inputs with these names and shapes.
    ///
    /// # Errors
    /// If the model has no such input, or a shape does not match the model.
    pub fn sizes(&self, shapes: &[(&str, Shape)]) -> Result<HashMap<String, usize>> {
        let mut sizes = HashMap::new();
        for (name, shape) in shapes {
            let Some(input) = self.inputs.iter().find(|input| input.name == *name) else {
                return Err(Error::Input(format!("the model has no input {name:?}")));
            };
            if !bind(&input.shape, shape, &mut sizes) {
                let declared = &input.shape;
                let problem = format!("input {name:?} is {declared}, and {shape} is given");
                return Err(Error::Input(problem));
            }
        }
        Ok(sizes)
    }

    /// Adds to `sizes` the named sizes in the shape of the tensor `name`. Outputs of a subgraph determine named sizes
    /// of later subgraphs.
    pub fn add_sizes(&self, name: &str, shape: &Shape, sizes: &mut HashMap<String, usize>) {
        let declared = self.infos.get(name).map(|info| tensor_type(info, name));
        if let Some(Ok((_, declared))) = declared {
            bind(&declared, shape, sizes);
        }
    }

    /// Builds the model of a subgraph with these outputs. The numbers in `sizes` replace named sizes.
    ///
    /// # Errors
    /// If the model does not state the type of an input of the subgraph, or a node is malformed or not supported in its
    /// form.
    pub fn model(
        &self,
        subgraph: &Subgraph,
        outputs: &[String],
        sizes: &HashMap<String, usize>,
    ) -> Result<Model> {
        let node: Vec<proto::Node> =
            subgraph.nodes.iter().map(|index| self.nodes[*index].clone()).collect();
        let made: HashSet<&str> = node.iter().flat_map(names_given).collect();
        let read: BTreeSet<&String> = node.iter().flat_map(|node| &node.input).collect();
        let (mut initializer, mut input) = (Vec::new(), Vec::new());
        for name in read.into_iter().filter(|name| !name.is_empty()) {
            if let Some(tensor) = self.initializers.get(name) {
                initializer.push(tensor.clone());
            } else if !made.contains(name.as_str()) {
                let info = self.infos.get(name).ok_or_else(|| {
                    Error::Input(format!("the model does not state the type of {name:?}"))
                })?;
                input.push(with_sizes(info, sizes));
            }
        }
        let output = outputs.iter().map(|name| named(name)).collect();
        let name = self.name.clone();
        let graph =
            proto::Graph { node, name, initializer, input, output, ..proto::Graph::default() };
        let external = ExternalData::new(Some(&self.folder), self.links);
        // Function calls count as computation, so there are none.
        model_of(&graph, Functions::new(&[])?, self.opset, external)
    }

    /// Determines the role of each node, and groups moving nodes into subgraphs.
    fn divide(&mut self, functions: &Functions) -> Result<()> {
        let graph = Graph::new(&self.nodes)?;
        let sorted = graph.sorted()?;
        let mut others = BTreeMap::new();
        let mut known: HashSet<&str> = self.initializers.keys().map(String::as_str).collect();
        let mut roles = vec![Role::Computes; self.nodes.len()];
        for index in &sorted {
            let node = &self.nodes[*index];
            let (role, name) = role(node, functions, &known);
            roles[*index] = role;
            match role {
                Role::Known => known.extend(names_given(node)),
                Role::Moves => {}
                Role::Computes => *others.entry(name).or_default() += 1,
            }
        }

        let readers = graph.readers(&self.outputs);
        // Sizes that the file claims for external data do not count.
        let initializers = self.initializers.values().map(proto::Tensor::encoded_len);
        let file: usize = self.nodes.iter().map(proto::Node::encoded_len).chain(initializers).sum();
        let mut left = LEAST_SHARED + MOST_SHARED * file as u64;
        let mut views = 0;
        let mut subgraphs = Vec::new();
        for members in graph.components(&sorted, &roles) {
            if members.iter().all(|index| is_view(&self.nodes[*index])) {
                views += members.len();
                continue;
            }
            let nodes = graph.with_known(&members, &roles);
            let costs = nodes.iter().map(|index| self.cost_of_node(&self.nodes[*index]));
            let cost = costs.fold(0, u64::saturating_add);
            left = left.checked_sub(cost).ok_or_else(|| {
                Error::Unsupported(format!(
                    "its {} and more subgraphs read the same tensors too often",
                    subgraphs.len()
                ))
            })?;
            subgraphs.push(self.subgraph(members, nodes, (&readers, &roles), &known));
        }
        (self.others, self.views, self.subgraphs) = (others, views, subgraphs);
        self.roles = roles;
        Ok(())
    }

    /// Estimates the bytes read for a node and its initializers.
    fn cost_of_node(&self, node: &proto::Node) -> u64 {
        let initializers = node.input.iter().filter_map(|name| self.initializers.get(name));
        initializers.map(cost).fold(node.encoded_len() as u64, u64::saturating_add)
    }

    /// Describes a subgraph. `members` move elements; `nodes` also has the nodes that decide how.
    fn subgraph(
        &self,
        members: Vec<usize>,
        nodes: Vec<usize>,
        (readers, roles): (&HashMap<&str, Vec<usize>>, &[Role]),
        known: &HashSet<&str>,
    ) -> Subgraph {
        let of = |index: &usize| &self.nodes[*index];
        let own: HashSet<usize> = members.iter().copied().collect();
        let given: Vec<&str> = members.iter().map(of).flat_map(names_given).collect();
        // A reader that needs only the shape does not count.
        let needs_it =
            |index: &usize| !own.contains(index) && roles.get(*index) != Some(&Role::Known);
        let is_read =
            |name: &&str| readers.get(name).is_some_and(|readers| readers.iter().any(needs_it));
        let mut seen: HashSet<&str> = given.iter().copied().collect();
        let read = members.iter().map(of).flat_map(|node| &node.input).map(String::as_str);
        let read = read.filter(|name| !name.is_empty() && !known.contains(name));
        let written = members.iter().map(of).filter(|node| !is_view(node)).flat_map(names_given);
        Subgraph {
            operators: members.iter().map(of).map(|node| label(node, "")).collect(),
            inputs: read.filter(|name| seen.insert(name)).map(str::to_owned).collect(),
            outputs: given.into_iter().filter(is_read).map(str::to_owned).collect(),
            written: written.map(str::to_owned).collect(),
            members,
            nodes,
        }
    }
}

/// Adds the named sizes of a tensor to `sizes`. Returns whether its shapes match.
fn bind(declared: &PartialShape, shape: &Shape, sizes: &mut HashMap<String, usize>) -> bool {
    let PartialShape::Ranked(dimensions) = declared else { return true };
    let fits = |(dimension, size): (&Dimension, &usize)| match dimension {
        Dimension::Named(name) => *sizes.entry(name.clone()).or_insert(*size) == *size,
        Dimension::Fixed(fixed) => fixed == size,
        Dimension::Between { .. } => true,
    };
    dimensions.len() == shape.rank() && dimensions.iter().zip(shape.sizes()).all(fits)
}

/// Estimates the bytes read for a tensor, including external data.
fn cost(tensor: &proto::Tensor) -> u64 {
    let sizes = tensor.dims.iter().map(|size| size.unsigned_abs());
    let elements = match &tensor.external_data[..] {
        [] => 0,
        _ => sizes.fold(1u64, u64::saturating_mul),
    };
    (tensor.encoded_len() as u64).saturating_add(elements.saturating_mul(8))
}

/// Copies a value's entry, with numbers instead of the named sizes.
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
