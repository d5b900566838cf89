//! A graph as passes over memory: which tensors are written, and from where.

use std::collections::{BTreeMap, BTreeSet};

use trundle_core::{Backend, DType, Layout, Move, Shape, Width};
use trundle_cpu::{Cpu, Plan};

use crate::draw::{Drawing, Drawn};
use crate::{ElementType, Error, Graph, Made, Result, Tensor, TensorId};

/// A graph decided down to kernels and tiles. Each output is written in one pass, from the inputs
/// and constants, but for what has to be written on the way.
#[derive(Debug)]
pub struct Program {
    graph: Graph,
    /// Which tensors the model puts together from slices, but are a roll of another.
    rolls: BTreeSet<TensorId>,
    stages: Vec<Stage>,
    cpu: Cpu,
}

/// One tensor written in one pass.
#[derive(Debug)]
pub struct Stage {
    /// Which tensor is written.
    pub tensor: TensorId,
    /// From where: one part for each tensor that is read.
    pub parts: Vec<Part>,
    /// The tensors that are nowhere written, since this pass moves straight through them.
    pub fused: Vec<TensorId>,
}

/// What one pass reads of one tensor.
#[derive(Debug)]
pub struct Part {
    /// The tensor that is read.
    pub from: TensorId,
    /// What is moved, in bytes. Texts are moved as numbers of 8 bytes.
    pub work: Move,
    /// How.
    pub plan: Plan,
}

impl Program {
    /// Decides how each output of `graph` is written. `threads` is how many may take part; `None`
    /// for as many as the machine has.
    ///
    /// # Errors
    /// [`Error::Node`] for a tensor that is too large to be addressed.
    pub fn new(graph: Graph, threads: Option<usize>) -> Result<Program> {
        let joined = |tensor: &Tensor| matches!(tensor.made, Made::Joined { .. });
        let joined: Vec<bool> = graph.tensors.iter().map(joined).collect();
        let (graph, cpu) = (graph.simplified(), Cpu::new(threads));
        let rolls = graph.rolls().filter(|id| joined[id.0]).collect();
        let mut stored = BTreeSet::new();
        let mut left = graph.outputs.clone();
        let mut stages = BTreeMap::new();
        while let Some(tensor) = left.pop() {
            if stages.contains_key(&tensor) {
                continue;
            }
            match Drawing::of(&graph, &stored, tensor) {
                Drawn::FromSources(drawing) => {
                    stages.insert(tensor, stage(&graph, &cpu, tensor, drawing)?);
                }
                Drawn::Needs(other) => {
                    if graph.tensors[other.0].made.is_source() || !stored.insert(other) {
                        let node = graph.tensors[tensor.0].name.clone();
                        let problem = "is no movement of boxes".to_owned();
                        return Err(Error::Node { node, problem });
                    }
                    left.extend([tensor, other]);
                }
            }
        }
        // A tensor is made of earlier ones, so that this is an order in which they can be written.
        Ok(Program { graph, rolls, stages: stages.into_values().collect(), cpu })
    }

    /// The tensors that the model puts together from slices of another, and that are that one,
    /// rolled.
    pub fn rolls(&self) -> &BTreeSet<TensorId> {
        &self.rolls
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The passes, in the order in which they run.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// What carries the moves out.
    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// The bytes of all outputs and of what is written on the way; texts count 8 bytes each.
    pub fn bytes(&self) -> usize {
        self.stages.iter().map(|stage| bytes_of(self.tensor(stage.tensor))).sum()
    }

    /// A tensor of the graph.
    pub(crate) fn tensor(&self, id: TensorId) -> &Tensor {
        &self.graph.tensors[id.0]
    }
}

impl Stage {
    /// The bytes that are written.
    pub fn moved_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.work.moved_bytes()).sum()
    }
}

/// The bytes of a tensor's elements, as they are moved.
pub(crate) fn bytes_of(tensor: &Tensor) -> usize {
    tensor.shape.bytes(width_of(tensor.element)).unwrap_or(usize::MAX)
}

/// How wide an element is where it is moved; a text is moved as its number.
pub(crate) fn width_of(element: ElementType) -> Width {
    match element {
        ElementType::Fixed(dtype) => dtype.into(),
        ElementType::String => DType::U64.into(),
    }
}

/// The moves of one pass.
fn stage(graph: &Graph, cpu: &Cpu, id: TensorId, drawing: Drawing<'_>) -> Result<Stage> {
    let tensor = &graph.tensors[id.0];
    let width = width_of(tensor.element);
    let too_large = |source: trundle_core::Error| Error::Node {
        node: tensor.name.clone(),
        problem: source.to_string(),
    };
    let packed = |shape: &Shape| Layout::row_major(shape, width.units()).map_err(too_large);
    let mut parts = Vec::with_capacity(drawing.sources.len());
    for ((from, _), regions) in &drawing.sources {
        let src = packed(regions.shape())?;
        let work = Move::of_regions(regions, width, &src).map_err(too_large)?;
        parts.push(Part { from: *from, plan: cpu.plan(&work), work });
    }
    Ok(Stage { tensor: id, parts, fused: drawing.through.into_iter().collect() })
}

impl Made {
    /// Whether the elements are there before anything is written.
    pub(crate) fn is_source(&self) -> bool {
        matches!(self, Made::Given(_) | Made::Constant(_))
    }
}
