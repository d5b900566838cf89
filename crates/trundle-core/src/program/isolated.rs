//! Converts a pass to a separate program, which can be run piece by piece.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{Made, Pass, Program, TensorId};
use crate::{Result, Shape, Width};

/// A pass as a program whose inputs are the tensors that the pass reads, and whose only output is its target.
///
/// Adjacent maps are merged. Reshapes of inputs and of the output are removed, since they move nothing between
/// contiguous tensors, so these may have other shapes than in the whole program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolated {
    /// The program of the pass.
    pub program: Program,
    /// For each input, its tensor in the whole program.
    pub inputs: Vec<TensorId>,
}

struct Building<'a> {
    whole: &'a Program,
    isolated: Isolated,
    /// Tensors of the new program by tensor of the whole program, except inputs.
    ids: BTreeMap<TensorId, TensorId>,
    /// The inputs by tensor of the whole program and shape.
    inputs: BTreeMap<(TensorId, Vec<usize>), TensorId>,
}

impl Program {
    /// Converts a pass of this program to a separate program.
    ///
    /// Law: the origin of each output element is the element found by tracing the target's element through this program
    /// to a tensor that the pass reads. Elements are numbered in row-major order.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if the pass belongs to another program with more
    /// tensors.
    pub fn isolated(&self, pass: &Pass) -> Result<Isolated> {
        self.isolated_as(pass, false)
    }

    /// As [`Program::isolated`], but keeps the output's shape.
    ///
    /// # Errors
    /// As [`Program::isolated`].
    pub fn isolated_in_shape(&self, pass: &Pass) -> Result<Isolated> {
        self.isolated_as(pass, true)
    }

    fn isolated_as(&self, pass: &Pass, keeps_shape: bool) -> Result<Isolated> {
        self.checked(pass.target)?;
        let made = self.made_within(pass);
        let (isolated, ids, inputs) = Default::default();
        let mut building = Building { whole: self, isolated, ids, inputs };
        for (at, made) in &made {
            building.add(*at, made, *at == pass.target && !keeps_shape)?;
        }
        let output = building.id(pass.target, &self.tensor(pass.target).shape)?;
        building.isolated.program.outputs = vec![output];
        Ok(building.isolated)
    }

    /// The pass's target and its intermediate tensors, with consecutive moves merged. All other tensors are inputs.
    fn made_within(&self, pass: &Pass) -> BTreeMap<TensorId, Made> {
        let read: BTreeSet<TensorId> = pass.reads.iter().map(|read| read.from).collect();
        let is_within = |id: TensorId| match self.tensor(id).made {
            Made::Given(_) => false,
            Made::Fill(_) => true,
            Made::Moved { .. } | Made::Joined { .. } => !read.contains(&id),
        };
        let (mut within, mut left) = (BTreeMap::new(), BTreeSet::from([pass.target]));
        while let Some(at) = left.pop_last() {
            if !is_within(at) {
                continue;
            }
            let mut made = self.tensor(at).made.clone();
            while let Made::Moved { from, map } = &made
                && is_within(*from)
                && let Made::Moved { from: first, map: before } = &self.tensor(*from).made
                && map.check_source().is_ok()
            {
                made = Made::Moved { from: *first, map: before.followed(map) };
            }
            left.extend(made.of());
            within.insert(at, made);
        }
        within
    }

    /// Replaces sub-byte elements by elements of one byte each.
    #[must_use]
    pub fn unpacked(mut self) -> Program {
        for tensor in &mut self.tensors {
            let Some(packing) = tensor.width.packing() else { continue };
            tensor.width = Width::Bytes(1);
            if let Made::Fill(element) = &mut tensor.made {
                *element = vec![packing.get(element, 0)];
            }
        }
        self
    }
}

impl Building<'_> {
    /// Adds a tensor that is not an input, without a reshape at its output if `is_contiguous`.
    fn add(&mut self, at: TensorId, made: &Made, is_contiguous: bool) -> Result<()> {
        let width = self.whole.tensor(at).width;
        let id = match made {
            Made::Given(_) => return Ok(()),
            Made::Fill(element) => self.isolated.program.fill(width, element)?,
            Made::Joined { axis, parts } => {
                let id = |part: &TensorId| self.id(*part, &self.whole.tensor(*part).shape);
                let parts = parts.iter().map(id).collect::<Result<Vec<_>>>()?;
                self.isolated.program.joined(*axis, &parts)?
            }
            Made::Moved { from, map } => {
                let mut map = map.clone();
                if is_contiguous {
                    map = map.without_output_reshape().unwrap_or(map);
                }
                if !self.ids.contains_key(from) {
                    map = map.without_source_reshape().unwrap_or(map);
                }
                let from = self.id(*from, map.in_shape())?;
                let shape = map.out_shape().clone();
                match map.is_identity() {
                    true => from,
                    false => self.isolated.program.push(shape, width, Made::Moved { from, map })?,
                }
            }
        };
        self.ids.insert(at, id);
        Ok(())
    }

    /// The new id of a tensor of the whole program, which becomes an input with this shape if it has not been added.
    fn id(&mut self, of: TensorId, shape: &Shape) -> Result<TensorId> {
        if let Some(id) = self.ids.get(&of) {
            return Ok(*id);
        }
        let key = (of, shape.to_vec());
        if let Some(id) = self.inputs.get(&key) {
            return Ok(*id);
        }
        let id = self.isolated.program.given(shape.clone(), self.whole.tensor(of).width)?;
        self.inputs.insert(key, id);
        self.isolated.inputs.push(of);
        Ok(id)
    }
}
