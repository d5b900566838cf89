//! A program as passes over memory: which tensors are written, and from where.

use std::collections::{BTreeMap, BTreeSet};

use super::pull_back::{PullBack, PulledBack};
use super::{Budget, Made, Program, TensorId, Tiles};
use crate::{Layout, Regions};

/// One tensor written in one pass.
#[derive(Debug)]
pub struct Pass {
    /// The tensor that is written, all of it.
    pub target: TensorId,
    /// From where.
    pub reads: Vec<Read>,
    /// The tensors on the way, which this pass does not need written.
    pub via: Vec<TensorId>,
    /// The tensors written by this pass or earlier ones that no later one reads, and that are no
    /// outputs.
    pub released: Vec<TensorId>,
}

/// What a pass reads of one tensor.
#[derive(Debug)]
pub struct Read {
    /// The tensor: given, filled, or written by an earlier pass. A pass whose target is given or
    /// filled copies it.
    pub from: TensorId,
    /// The boxes of the target that are read from it; `None` where they would be too many: then the
    /// target is a movement of this tensor, and is moved in [tiles](Program::tiles).
    pub regions: Option<Regions>,
}

impl Program {
    /// How each output is written, in an order in which it can be done: in one pass from what is
    /// given and filled, but for tensors that have to be written on the way.
    ///
    /// Law: each element of each output is written once, and each that a pass reads is written
    /// before; what is written is what [`Program::origin`] says.
    pub fn passes(&self, budget: &mut Budget) -> Vec<Pass> {
        self.passes_to(&BTreeMap::new(), budget)
    }

    /// [`Program::passes`] with outputs that are written to these layouts, of their shapes, instead
    /// of row-major ones.
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
            // What has to be written before.
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
        // A tensor is made of earlier ones, so that this is an order in which they can be written.
        let mut passes = self.read_in_the_end(passes);
        self.release(&mut passes);
        passes
    }

    /// A moved tensor in tiles of at most `most` boxes, for a pass that cannot have all of them.
    /// `None` for other tensors.
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

    /// The passes that outputs depend on: what one needed at first it may have done without.
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

    /// Says after which pass each tensor is of no more use.
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
