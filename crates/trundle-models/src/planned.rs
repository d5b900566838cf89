//! A model as passes over memory, each decided down to kernels and tiles.

use std::collections::{BTreeMap, BTreeSet};

use trundle::lowering::{Backend, Device, PlannedPass, PlannedProgram};
use trundle_core::program::{Budget, Made, Program, TensorId};
use trundle_core::{AxisMap, IndexMap, Line};

use crate::{Error, ResolvedModel, Result};

/// A model decided down to kernels and tiles. Each output is written in one pass, from the inputs
/// and constants, but for what has to be written on the way.
#[derive(Debug)]
pub struct PlannedModel {
    model: ResolvedModel,
    /// Which tensors the model puts together from slices, but are a roll of another.
    rolls: BTreeSet<TensorId>,
    program: PlannedProgram<Device>,
    /// Which tensor each input of the program is, up to the last one that a run looks at.
    pub(crate) given: Vec<TensorId>,
    /// For each output the first one that is the same tensor.
    pub(crate) firsts: Vec<usize>,
}

impl PlannedModel {
    /// Decides how each output of `model` is written. `threads` is how many may take part; `None`
    /// for as many as the machine has.
    ///
    /// # Errors
    /// [`Error::Input`] if the memory has no room for the model's fills.
    pub fn new(model: ResolvedModel, threads: Option<usize>) -> Result<PlannedModel> {
        let device = Device::new(threads);
        PlannedModel::within(model, device.budget(), device)
    }

    /// The same at no more than these costs.
    pub(crate) fn within(
        model: ResolvedModel,
        budget: Budget,
        device: Device,
    ) -> Result<PlannedModel> {
        let joined = joins(model.program());
        let model = model.simplified(&budget);
        let is_roll = |id: &TensorId| match &model.program().tensor(*id).made {
            Made::Moved { map, .. } => is_roll(map),
            _ => false,
        };
        let rolls = joined.into_iter().filter(is_roll).collect();
        let program = PlannedProgram::within(device, model.program(), budget)
            .map_err(|error| Error::Input(error.to_string()))?;
        let (given, firsts) = (given(&model, program.passes()), firsts(model.outputs()));
        Ok(PlannedModel { model, rolls, program, given, firsts })
    }

    /// The same model, with what lies between its passes allocated now and not by the first
    /// [`run_into`](PlannedModel::run_into).
    ///
    /// # Errors
    /// [`Error::Input`] if the memory has no room for it.
    pub fn allocated(self) -> Result<PlannedModel> {
        let program = self.program.allocated().map_err(|error| Error::Input(error.to_string()))?;
        Ok(PlannedModel { program, ..self })
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

    /// The model's program, as it is run. Texts are moved as indices of 8 bytes.
    pub fn program(&self) -> &PlannedProgram<Device> {
        &self.program
    }

    /// The passes, in the order in which they run.
    pub fn passes(&self) -> &[PlannedPass] {
        self.program.passes()
    }

    /// The most bytes of outputs, and of what is written on the way, that are held at once; texts
    /// count 8 bytes each.
    pub fn peak_bytes(&self) -> usize {
        self.program.peak_bytes()
    }

    /// The bytes that all passes write.
    pub fn moved_bytes(&self) -> usize {
        self.program.moved_bytes()
    }

    /// The bytes that a pass writes: all of its tensor.
    pub fn moved_by(&self, pass: &PlannedPass) -> usize {
        self.program.bytes_of(pass)
    }
}

/// Which tensors the inputs of a program are: those of the model, and its constants up to the last one
/// that a pass reads. Most constants say sizes and orders, which are known before anything is moved.
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

/// For each of these the first one that is the same.
fn firsts(outputs: &[TensorId]) -> Vec<usize> {
    let mut seen = BTreeMap::new();
    let first = |(number, id): (usize, &TensorId)| *seen.entry(*id).or_insert(number);
    outputs.iter().enumerate().map(first).collect()
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
        AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => false,
    };
    let axes = layer.axes().unwrap_or_default();
    map.in_shape() == map.out_shape()
        && !map.is_identity()
        && axes.iter().enumerate().all(keeps_order)
        && map.invert().is_some()
}
