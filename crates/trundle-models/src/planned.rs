//! A model planned as passes over memory.

use std::collections::{BTreeMap, BTreeSet};

use trundle::ProgramPlan;
use trundle::lowering::{Backend, Device, PlannedPass};
use trundle_core::program::{Budget, Made, TensorId};
use trundle_core::{AxisMap, IndexMap, Line};

use crate::{Error, ResolvedModel, Result};

/// A planned model.
///
/// One pass writes each output from inputs and constants, unless intermediate tensors have to be written first.
#[derive(Debug)]
pub struct PlannedModel {
    model: ResolvedModel,
    /// As [`PlannedModel::rolls`].
    rolls: BTreeSet<TensorId>,
    program: ProgramPlan,
    /// The tensors of the program's inputs, up to the last one that a run reads.
    pub(crate) given: Vec<TensorId>,
    /// For each output, the first output of the same tensor.
    pub(crate) firsts: Vec<usize>,
}

impl PlannedModel {
    /// Plans how to write each output of `model`, with at most `threads` threads (`None`: the
    /// [default](trundle::threads)).
    ///
    /// # Errors
    /// [`Error::Input`] if there is not enough memory for the fills of the model.
    pub fn new(model: ResolvedModel, threads: Option<usize>) -> Result<PlannedModel> {
        let device = Device::new(threads);
        PlannedModel::within(model, &device.budget(), device)
    }

    pub(crate) fn within(
        model: ResolvedModel,
        budget: &Budget,
        device: Device,
    ) -> Result<PlannedModel> {
        let is_join =
            |id: &TensorId| matches!(model.program().tensor(*id).made, Made::Joined { .. });
        let ids = (0..model.program().tensors().len()).map(TensorId);
        let joined: Vec<TensorId> = ids.filter(is_join).collect();
        let model = model.simplified(budget);
        let is_roll = |id: &TensorId| match &model.program().tensor(*id).made {
            Made::Moved { map, .. } => is_roll(map),
            _ => false,
        };
        let rolls = joined.into_iter().filter(is_roll).collect();
        let program = ProgramPlan::on(device, model.program(), budget)
            .map_err(|error| Error::Input(error.to_string()))?;
        let (given, firsts) = (given(&model, program.passes()), firsts(model.outputs()));
        Ok(PlannedModel { model, rolls, program, given, firsts })
    }

    /// Allocates the buffers between passes now instead of in the first [`run_into`](PlannedModel::run_into).
    ///
    /// # Errors
    /// [`Error::Input`] if there is not enough memory.
    pub fn allocated(self) -> Result<PlannedModel> {
        let program = self.program.allocated().map_err(|error| Error::Input(error.to_string()))?;
        Ok(PlannedModel { program, ..self })
    }

    /// The tensors that the model joins from slices of a tensor, and that equal a roll of it.
    pub fn rolls(&self) -> &BTreeSet<TensorId> {
        &self.rolls
    }

    /// The model that runs, with its program simplified.
    pub fn model(&self) -> &ResolvedModel {
        &self.model
    }

    /// The planned program. Strings are moved as indices of 8 bytes.
    pub fn program(&self) -> &ProgramPlan {
        &self.program
    }

    /// The passes, in execution order.
    pub fn passes(&self) -> &[PlannedPass] {
        self.program.passes()
    }

    /// The peak memory of outputs and intermediate tensors in bytes; a string counts as 8 bytes.
    pub fn peak_bytes(&self) -> usize {
        self.program.peak_bytes()
    }

    /// The bytes written by all passes.
    pub fn moved_bytes(&self) -> usize {
        self.program.moved_bytes()
    }
}

/// The model's inputs, then its constants up to the last one that a pass reads. Most constants only hold sizes or
/// orders of axes, which no pass reads.
fn given(model: &ResolvedModel, passes: &[PlannedPass]) -> Vec<TensorId> {
    let tensors = model.program().tensors().iter().enumerate();
    let mut given: Vec<TensorId> = tensors
        .filter(|(_, tensor)| matches!(tensor.made, Made::Given(_)))
        .map(|(index, _)| TensorId(index))
        .collect();
    let read: BTreeSet<TensorId> =
        passes.iter().flat_map(|pass| pass.parts.iter().map(|part| part.from)).collect();
    let last = given.iter().rposition(|id| read.contains(id));
    given.truncate(model.inputs().max(last.map_or(0, |last| last + 1)));
    given
}

fn firsts(outputs: &[TensorId]) -> Vec<usize> {
    let mut seen = BTreeMap::new();
    let first = |(number, id): (usize, &TensorId)| *seen.entry(*id).or_insert(number);
    outputs.iter().enumerate().map(first).collect()
}

/// Whether a map only rotates axes.
fn is_roll(map: &IndexMap) -> bool {
    let [layer] = map.layers() else { return false };
    let keeps_order = |(axis, map): (usize, &AxisMap)| match map {
        AxisMap::Affine { axis: read, line } => *read == axis && *line == Line::IDENTITY,
        AxisMap::Segments { axis: read, pieces } => {
            *read == axis && pieces.len() == 2 && pieces.iter().all(|piece| piece.line.step == 1)
        }
        AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => false,
    };
    let axes = layer.axes().unwrap_or_default();
    map.in_shape() == map.out_shape()
        && !map.is_identity()
        && axes.iter().enumerate().all(keeps_order)
        && map.invert().is_some()
}
