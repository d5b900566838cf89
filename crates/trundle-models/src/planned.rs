//! A model as passes over memory, each decided down to kernels and tiles.

use std::collections::BTreeSet;

use trundle_core::program::{Budget, Made, Pass, Program, Read, TensorId};
use trundle_core::{AxisMap, Backend, IndexMap, Layout, Line, Move};
use trundle_cpu::{Cpu, Plan};

use crate::{Error, ResolvedModel, Result};

/// A model decided down to kernels and tiles. Each output is written in one pass, from the inputs
/// and constants, but for what has to be written on the way.
#[derive(Debug)]
pub struct PlannedModel {
    model: ResolvedModel,
    /// Which tensors the model puts together from slices, but are a roll of another.
    rolls: BTreeSet<TensorId>,
    passes: Vec<PlannedPass>,
    cpu: Cpu,
}

/// One tensor written in one pass.
#[derive(Debug)]
pub struct PlannedPass {
    /// Which tensor is written.
    pub target: TensorId,
    /// From where: one part for each tensor that is read.
    pub parts: Vec<PlannedPart>,
    /// The tensors on the way, which are nowhere written for this pass.
    pub via: Vec<TensorId>,
    /// The tensors that no later pass reads, and that are no outputs.
    pub(crate) released: Vec<TensorId>,
}

/// What one pass reads of one tensor.
#[derive(Debug)]
pub struct PlannedPart {
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
        /// What is moved, in bytes. Texts are moved as indices of 8 bytes.
        work: Move,
        /// How.
        plan: Box<Plan>,
    },
    /// Each element by itself, as the map of the tensor says: it would be too many boxes.
    ByElement,
}

impl PlannedModel {
    /// Decides how each output of `model` is written. `threads` is how many may take part; `None`
    /// for as many as the machine has.
    ///
    /// # Errors
    /// [`Error::Node`] for a tensor that is too large to be addressed.
    pub fn new(model: ResolvedModel, threads: Option<usize>) -> Result<PlannedModel> {
        let cpu = Cpu::new(threads);
        PlannedModel::within(model, cpu.budget(), cpu)
    }

    /// The same at no more than these costs.
    pub(crate) fn within(
        model: ResolvedModel,
        mut budget: Budget,
        cpu: Cpu,
    ) -> Result<PlannedModel> {
        let joined = joins(model.program());
        let model = model.simplified(&budget);
        let is_roll = |id: &TensorId| match &model.program().tensor(*id).made {
            Made::Moved { map, .. } => is_roll(map),
            _ => false,
        };
        let rolls = joined.into_iter().filter(is_roll).collect();
        let passes = model.program().passes(&mut budget).into_iter();
        let passes = passes.map(|pass| planned(&model, &cpu, pass)).collect::<Result<_>>()?;
        Ok(PlannedModel { model, rolls, passes, cpu })
    }

    /// The tensors that the model puts together from slices of another, and that are that one,
    /// rolled.
    pub fn rolls(&self) -> &BTreeSet<TensorId> {
        &self.rolls
    }

    /// The model, its program as simple as it is run.
    pub fn model(&self) -> &ResolvedModel {
        &self.model
    }

    /// The passes, in the order in which they run.
    pub fn passes(&self) -> &[PlannedPass] {
        &self.passes
    }

    /// What carries the moves out.
    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// The most bytes of outputs, and of what is written on the way, that are held at once; texts
    /// count 8 bytes each.
    pub fn peak_bytes(&self) -> usize {
        let (mut held, mut peak) = (0usize, 0);
        for pass in &self.passes {
            held = held.saturating_add(self.bytes_of(pass.target));
            peak = peak.max(held);
            let released = pass.released.iter().map(|id| self.bytes_of(*id));
            held = held.saturating_sub(released.fold(0, usize::saturating_add));
        }
        peak
    }

    /// The bytes that all passes write.
    pub fn moved_bytes(&self) -> usize {
        let moved = self.passes.iter().map(|pass| self.moved_by(pass));
        moved.fold(0, usize::saturating_add)
    }

    /// The bytes that a pass writes: all of its tensor.
    pub fn moved_by(&self, pass: &PlannedPass) -> usize {
        self.bytes_of(pass.target)
    }

    /// The bytes of a tensor's elements, as they are moved.
    pub(crate) fn bytes_of(&self, id: TensorId) -> usize {
        let tensor = self.model.program().tensor(id);
        tensor.shape.bytes(tensor.width).unwrap_or(usize::MAX)
    }
}

/// A pass with the move of each tensor that is read, and its plan.
fn planned(model: &ResolvedModel, cpu: &Cpu, pass: Pass) -> Result<PlannedPass> {
    let Pass { target, reads, via, released } = pass;
    let width = model.program().tensor(target).width;
    let too_large = |error: trundle_core::Error| Error::Node {
        node: format!("{:?}", model.name(target)),
        problem: error.to_string(),
    };
    let part = |Read { from, regions }| {
        let Some(regions) = regions else {
            return Ok(PlannedPart { from, how: How::ByElement });
        };
        let src = Layout::row_major(regions.shape(), width.units()).map_err(too_large)?;
        let work = Move::of_regions(&regions, width, &src).map_err(too_large)?;
        let plan = Box::new(cpu.plan(&work));
        Ok(PlannedPart { from, how: How::Planned { work, plan } })
    };
    let parts = reads.into_iter().map(part).collect::<Result<_>>()?;
    Ok(PlannedPass { target, parts, via, released })
}

/// The tensors that are joined.
fn joins(program: &Program) -> Vec<TensorId> {
    let is_join = |id: &TensorId| matches!(program.tensor(*id).made, Made::Joined { .. });
    (0..program.tensors().len()).map(TensorId).filter(is_join).collect()
}

/// Whether a map moves no element but around the ends of axes.
fn is_roll(map: &IndexMap) -> bool {
    let [layer] = map.layers() else { return false };
    let keeps_order = |(axis, map): (usize, &AxisMap)| match map {
        AxisMap::Affine { axis: read, line } => *read == axis && *line == Line::IDENTITY,
        AxisMap::Segments { axis: read, pieces } => {
            *read == axis && pieces.len() == 2 && pieces.iter().all(|piece| piece.line.step == 1)
        }
        AxisMap::Ragged { .. } => false,
    };
    let axes = layer.axes().unwrap_or_default();
    map.in_shape() == map.out_shape()
        && !map.is_identity()
        && axes.iter().enumerate().all(keeps_order)
        && map.invert().is_some()
}
