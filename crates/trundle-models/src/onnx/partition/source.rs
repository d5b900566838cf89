//! An ONNX model in its encoded form, with the bytes of each node and tensor.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use trundle_core::Shape;

use super::element_types::ElementTypes;
use super::graph::{Graph, names_given, with_inner};
use super::role::{Role, says_shape};
use super::wire::{Field, fields, payloads};
use super::{Partition, cost};
use crate::onnx::builder::attribute_graphs;
use crate::onnx::element::element_type;
use crate::onnx::malformed;
use crate::onnx::value_info::tensor_type;
use crate::{ElementType, Error, Result};

/// Field numbers of `ModelProto`, then of `GraphProto`.
pub(super) mod field {
    pub(in super::super) const IR_VERSION: u32 = 1;
    pub(in super::super) const GRAPH: u32 = 7;
    pub(in super::super) const OPSET_IMPORT: u32 = 8;

    pub(in super::super) const NODE: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const INITIALIZER: u32 = 5;
    pub(in super::super) const INPUT: u32 = 11;
    pub(in super::super) const OUTPUT: u32 = 12;
    pub(in super::super) const VALUE_INFO: u32 = 13;
}

/// The maximum bytes of a tensor that a node contains only to compute a shape.
const MOST_SHORT: u64 = 1 << 10;

pub(super) struct Source<'a> {
    pub(super) partition: &'a Partition,
    pub(super) graph: Graph<'a>,
    /// The fields of the model and of its graph.
    pub(super) model: Vec<Field>,
    pub(super) fields: Vec<Field>,
    /// Each node's position in a topological order.
    order: Vec<usize>,
    /// The encoded nodes, in the file's order.
    pub(super) nodes: Vec<Bytes>,
    pub(super) tensors: HashMap<&'a str, Bytes>,
    pub(super) types: ElementTypes<'a>,
}

impl<'a> Source<'a> {
    /// Splits the file of a partition into its parts.
    ///
    /// # Errors
    /// If the file has several fields for its graph, or a node that is not a message.
    pub(super) fn new(partition: &'a Partition) -> Result<Source<'a>> {
        let graph = Graph::new(&partition.nodes)?;
        let model = fields(&partition.file)?;
        let graphs: Vec<&Bytes> = payloads(&model, field::GRAPH).collect();
        let [own] = graphs[..] else {
            return Err(Error::Unsupported("the graph is in several pieces".to_owned()));
        };
        let fields = fields(own)?;
        let nodes: Vec<Bytes> = payloads(&fields, field::NODE).cloned().collect();
        let tensors = partition.initializer_names.iter().map(String::as_str);
        let tensors = tensors.zip(payloads(&fields, field::INITIALIZER).cloned()).collect();
        if nodes.len() != partition.nodes.len() {
            return Err(malformed("a node is not a message"));
        }
        let initializers =
            partition.initializers.values().map(|tensor| (&tensor.name[..], tensor.data_type));
        let declared = partition.infos.values().filter_map(|info| {
            let tensor = info.r#type.as_ref()?.tensor.as_ref()?;
            Some((&info.name[..], tensor.elem_type))
        });
        let mut types = ElementTypes::new(initializers.chain(declared));
        let mut order = vec![0; nodes.len()];
        for (number, index) in graph.sorted()?.into_iter().enumerate() {
            types.add(&partition.nodes[index]);
            order[index] = number;
        }
        Ok(Source { partition, graph, model, fields, order, nodes, tensors, types })
    }

    /// Whether a tensor is known before the model runs.
    pub(super) fn is_known(&self, name: &str) -> bool {
        match self.graph.giver(name) {
            Some(index) => self.partition.roles[index] == Role::Known,
            None => self.partition.initializers.contains_key(name),
        }
    }

    /// An initializer that callers may override.
    pub(super) fn is_default(&self, name: &str) -> bool {
        self.partition.has_defaults && self.partition.initialized_inputs.contains(name)
    }

    /// A small initializer that callers cannot override.
    pub(super) fn is_short_initializer(&self, name: &str) -> bool {
        let initializers = self.partition.initializers.get(name);
        initializers.is_some_and(|tensor| cost(tensor) <= MOST_SHORT) && !self.is_default(name)
    }

    /// Known tensors that depend on the shape of one of the subgraph's own tensors (`own`).
    pub(super) fn reckoned_from(&self, own: &HashSet<&str>, nodes: &[usize]) -> HashSet<&'a str> {
        let all = &self.partition.nodes;
        let mut known: Vec<usize> = nodes.to_vec();
        known.retain(|index| self.partition.roles[*index] == Role::Known);
        known.sort_unstable_by_key(|index| self.order[*index]);
        let mut reckoned = HashSet::new();
        for index in known {
            let node = &all[index];
            let mut reads = node.input.iter().map(String::as_str);
            if reads.any(|read| reckoned.contains(read) || says_shape(node) && own.contains(read)) {
                reckoned.extend(names_given(node));
            }
        }
        reckoned
    }

    /// Returns the element type of a tensor.
    ///
    /// # Errors
    /// If neither the file nor an operator determines the type, or it is not supported.
    pub(super) fn element_type(&self, name: &str) -> Result<ElementType> {
        let number = self.types.get(name).ok_or_else(|| {
            Error::Input(format!("the model does not state the type of {name:?}"))
        })?;
        element_type(number, &format!("{name:?}")).map(|(_, element)| element)
    }

    /// Returns the shape, if the file states all its sizes.
    pub(super) fn shape(&self, name: &str) -> Option<Shape> {
        if let Some(tensor) = self.partition.initializers.get(name) {
            let sizes = tensor.dims.iter().map(|size| usize::try_from(*size).ok());
            return Shape::new(sizes.collect::<Option<Vec<_>>>()?).ok();
        }
        let (_, declared) = tensor_type(self.partition.infos.get(name)?, name).ok()?;
        Shape::new(declared.sizes()?).ok()
    }

    pub(super) fn is_of_fixed_shapes(&self) -> bool {
        self.partition.inputs.iter().all(|input| input.shape.sizes().is_some())
    }

    /// Whether the model or an attribute graph has external data.
    pub(super) fn external(&self) -> bool {
        let nodes = with_inner(&self.partition.nodes).into_iter();
        let inner = nodes.flat_map(|node| {
            let own = node.attribute.iter().filter_map(|attribute| attribute.t.as_deref());
            own.chain(attribute_graphs(node).flat_map(|graph| &graph.initializer))
        });
        let mut tensors = self.partition.initializers.values().chain(inner);
        tensors.any(|tensor| !tensor.external_data.is_empty())
    }
}
