//! Divides a program into passes over memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::pull_back::{PullBack, PulledBack};
use super::{Budget, Made, Program, TensorId, Tiles};
use crate::{Layout, Regions};

/// A pass over memory that writes one tensor.
#[derive(Debug)]
pub struct Pass {
    /// The tensor that the pass writes completely.
    pub target: TensorId,
    /// The tensors that the pass reads.
    pub reads: Vec<Read>,
    /// The intermediate tensors, which this pass does not need in memory.
    pub via: Vec<TensorId>,
    /// The tensors whose memory can be freed after this pass: earlier passes or this one wrote them, they are not
    /// outputs, and no later pass reads them.
    pub released: Vec<TensorId>,
}

/// The part of a pass that reads from one tensor.
#[derive(Debug)]
pub struct Read {
    /// The tensor: an input, a constant, or written by an earlier pass. A pass whose target is an input or a constant
    /// copies it.
    pub from: TensorId,
    /// The boxes of the target that come from this tensor. `None` if there would be too many: the whole target is then
    /// moved from this tensor in [tiles](Program::tiles).
    pub regions: Option<Regions>,
}

impl Program {
    /// The passes that write the outputs, in order of execution.
    ///
    /// Each output takes one pass from inputs and constants, unless intermediate tensors must be written first.
    ///
    /// Law: each element of each output is written once, and comes from its [`Program::origin`]. Each element that a
    /// pass reads was written earlier, or belongs to an input or a constant.
    pub fn passes(&self, budget: &mut Budget) -> Vec<Pass> {
        self.passes_to(&BTreeMap::new(), budget)
    }

    /// [`Program::passes`] with given layouts for some outputs; others are row-major.
    pub fn passes_to(
        &self,
        layouts: &BTreeMap<TensorId, Layout>,
        budget: &mut Budget,
    ) -> Vec<Pass> {
        let mut stored = BTreeSet::new();
        let mut left = self.outputs.clone();
        let mut passes = BTreeMap::new();
        while let Some(target) = left.pop() {
            if passes.contains_key(&target) {
                continue;
            }
            let mut needed = Vec::new();
            match PullBack::of(self, &stored, target, layouts.get(&target), budget) {
                PulledBack::FromSources(pulled) => {
                    passes.insert(target, Pass::of(target, pulled));
                }
                PulledBack::Needs(other) => {
                    left.push(target);
                    needed.push(other);
                }
                PulledBack::Directly(pulled) => {
                    needed.extend(pulled.sources.keys().map(|(from, _)| *from));
                    passes.insert(target, Pass::of(target, pulled));
                }
                PulledBack::InTiles(from) => {
                    needed.push(from);
                    passes.insert(target, Pass::in_tiles(target, from));
                }
            }
            needed.retain(|other| !self.tensor(*other).made.is_source());
            stored.extend(&needed);
            left.extend(needed);
        }
        // A tensor is made from earlier ones, so the order of the targets is valid.
        let mut passes = self.read_in_the_end(passes);
        self.release(&mut passes);
        passes
    }

    /// Divides a moved tensor into tiles of at most `most` boxes, for a pass that has too many. `None` for a tensor
    /// that is not [moved](Made::Moved).
    ///
    /// # Panics
    /// If there is no such tensor.
    pub fn tiles(&self, target: TensorId, most: usize) -> Option<Tiles> {
        let tensor = self.tensor(target);
        let Made::Moved { map, .. } = &tensor.made else { return None };
        let tiles = Tiles::new(map, tensor.width, most);
        Some(
            tiles.unwrap_or_else(|error| {
                unreachable!("tensors of a program can be addressed: {error}")
            }),
        )
    }

    /// Drops passes that write a tensor that a pull-back required, but that no pass reads in the end.
    fn read_in_the_end(&self, passes: BTreeMap<TensorId, Pass>) -> Vec<Pass> {
        let mut read: BTreeSet<TensorId> = self.outputs.iter().copied().collect();
        let mut kept = Vec::with_capacity(passes.len());
        for (target, pass) in passes.into_iter().rev() {
            if read.contains(&target) {
                read.extend(pass.reads.iter().map(|read| read.from));
                kept.push(pass);
            }
        }
        kept.reverse();
        kept
    }

    fn release(&self, passes: &mut [Pass]) {
        let mut last_use = BTreeMap::new();
        for (index, pass) in passes.iter().enumerate() {
            last_use.insert(pass.target, index);
            last_use.extend(pass.reads.iter().map(|read| (read.from, index)));
        }
        for output in &self.outputs {
            last_use.remove(output);
        }
        for (tensor, index) in last_use {
            if !self.tensor(tensor).made.is_source() {
                passes[index].released.push(tensor);
            }
        }
    }
}

impl Pass {
    fn of(target: TensorId, pulled: PullBack<'_>) -> Pass {
        let read = |((from, _), regions)| Read { from, regions: Some(regions) };
        let reads = pulled.sources.into_iter().map(read).collect();
        Pass { target, reads, via: pulled.via.into_iter().collect(), released: Vec::new() }
    }

    fn in_tiles(target: TensorId, from: TensorId) -> Pass {
        let reads = vec![Read { from, regions: None }];
        Pass { target, reads, via: Vec::new(), released: Vec::new() }
    }
}
