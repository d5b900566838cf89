//! A graph as passes over memory: which tensors are written, and from where.

use std::collections::{BTreeMap, BTreeSet};

use trundle_core::{Backend, DType, Layout, Move, Shape, Width};
use trundle_cpu::{Cpu, Plan};

use crate::budget::Budget;
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
    /// For each stage, the tensors that no later one reads, and that are no outputs.
    unread: Vec<Vec<TensorId>>,
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
    /// What is moved, and how.
    pub how: How,
}

/// How a part of a pass is moved.
#[derive(Debug)]
pub enum How {
    /// As boxes.
    Planned {
        /// What is moved, in bytes. Texts are moved as numbers of 8 bytes.
        work: Move,
        /// How.
        plan: Box<Plan>,
    },
    /// Each element by itself, as the map of the tensor says: it would be too many boxes.
    ByElement,
}

impl Program {
    /// Decides how each output of `graph` is written. `threads` is how many may take part; `None`
    /// for as many as the machine has.
    ///
    /// # Errors
    /// [`Error::Node`] for a tensor that is too large to be addressed.
    pub fn new(graph: Graph, threads: Option<usize>) -> Result<Program> {
        Program::within(graph, threads, Budget::default())
    }

    /// The same at no more than these costs.
    pub(crate) fn within(
        graph: Graph,
        threads: Option<usize>,
        mut budget: Budget,
    ) -> Result<Program> {
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
            let drawn = Drawing::of(&graph, &stored, tensor, &mut budget)
                .map_err(|error| too_large(&graph, tensor, &error))?;
            // What has to be there before, and is written for that.
            let mut needed = Vec::new();
            match drawn {
                Drawn::FromSources(drawing) => {
                    stages.insert(tensor, stage(&graph, &cpu, tensor, &drawing)?);
                }
                Drawn::Needs(other) => {
                    left.push(tensor);
                    needed.push(other);
                }
                Drawn::Directly(drawing) => {
                    needed.extend(drawing.sources.keys().map(|(from, _)| *from));
                    stages.insert(tensor, stage(&graph, &cpu, tensor, &drawing)?);
                }
                Drawn::ByElement(from) => {
                    needed.push(from);
                    let parts = vec![Part { from, how: How::ByElement }];
                    stages.insert(tensor, Stage { tensor, parts, fused: Vec::new() });
                }
            }
            needed.retain(|other| !graph.tensors[other.0].made.is_source());
            stored.extend(&needed);
            left.extend(needed);
        }
        // A tensor is made of earlier ones, so that this is an order in which they can be written.
        let stages = read_at_last(&graph, stages);
        let unread = unread(&graph, &stages);
        Ok(Program { graph, rolls, stages, unread, cpu })
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

    /// The most bytes of outputs, and of what is written on the way, that are there at once; texts
    /// count 8 bytes each.
    pub fn peak_bytes(&self) -> usize {
        let (mut held, mut peak) = (0usize, 0);
        for (stage, unread) in self.stages.iter().zip(&self.unread) {
            held = held.saturating_add(bytes_of(self.tensor(stage.tensor)));
            peak = peak.max(held);
            let dropped = unread.iter().map(|id| bytes_of(self.tensor(*id)));
            held = held.saturating_sub(dropped.fold(0, usize::saturating_add));
        }
        peak
    }

    /// The bytes that all passes write.
    pub fn moved_bytes(&self) -> usize {
        let moved = self.stages.iter().map(|stage| self.moved_by(stage));
        moved.fold(0, usize::saturating_add)
    }

    /// The bytes that a pass writes: all of its tensor.
    pub fn moved_by(&self, stage: &Stage) -> usize {
        bytes_of(self.tensor(stage.tensor))
    }

    /// What nobody reads after the stage of this number.
    pub(crate) fn unread_after(&self, number: usize) -> &[TensorId] {
        &self.unread[number]
    }

    /// A tensor of the graph.
    pub(crate) fn tensor(&self, id: TensorId) -> &Tensor {
        &self.graph.tensors[id.0]
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
fn stage(graph: &Graph, cpu: &Cpu, id: TensorId, drawing: &Drawing<'_>) -> Result<Stage> {
    let tensor = &graph.tensors[id.0];
    let width = width_of(tensor.element);
    let too_large = |error: trundle_core::Error| too_large(graph, id, &error);
    let packed = |shape: &Shape| Layout::row_major(shape, width.units()).map_err(too_large);
    let mut parts = Vec::with_capacity(drawing.sources.len());
    for ((from, _), regions) in &drawing.sources {
        let src = packed(regions.shape())?;
        let work = Move::of_regions(regions, width, &src).map_err(too_large)?;
        let plan = Box::new(cpu.plan(&work));
        parts.push(Part { from: *from, how: How::Planned { work, plan } });
    }
    Ok(Stage { tensor: id, parts, fused: drawing.through.iter().copied().collect() })
}

/// A tensor that cannot be addressed.
fn too_large(graph: &Graph, id: TensorId, error: &trundle_core::Error) -> Error {
    let node = format!("{:?}", graph.name(id));
    Error::Node { node, problem: error.to_string() }
}

/// The stages that outputs depend on: what one needed at first it may have done without at last.
fn read_at_last(graph: &Graph, stages: BTreeMap<TensorId, Stage>) -> Vec<Stage> {
    let mut read: BTreeSet<TensorId> = graph.outputs.iter().copied().collect();
    let mut kept = Vec::with_capacity(stages.len());
    for (tensor, stage) in stages.into_iter().rev() {
        if read.contains(&tensor) {
            read.extend(stage.parts.iter().map(|part| part.from));
            kept.push(stage);
        }
    }
    kept.reverse();
    kept
}

/// For each stage, the tensors that no later one reads, and that are no outputs.
fn unread(graph: &Graph, stages: &[Stage]) -> Vec<Vec<TensorId>> {
    let mut last_read: BTreeMap<TensorId, usize> = BTreeMap::new();
    for (number, stage) in stages.iter().enumerate() {
        last_read.insert(stage.tensor, number);
        for part in &stage.parts {
            last_read.insert(part.from, number);
        }
    }
    for output in &graph.outputs {
        last_read.remove(output);
    }
    let mut unread = vec![Vec::new(); stages.len()];
    for (tensor, number) in last_read {
        if !graph.tensors[tensor.0].made.is_source() {
            unread[number].push(tensor);
        }
    }
    unread
}

impl Made {
    /// Whether the elements are there before anything is written.
    pub(crate) fn is_source(&self) -> bool {
        matches!(self, Made::Given(_) | Made::Constant(_))
    }
}
