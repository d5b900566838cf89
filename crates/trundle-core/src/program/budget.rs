//! Limits on the time and memory of planning.

use super::TensorId;
use crate::Shape;

/// Limits on planning a program in as few passes as possible.
///
/// The caller provides the budget, since the cost of a region relative to moving an element depends on the
/// backend.
///
/// Exceeding a limit is never an error. A tensor that would have too many regions is read directly from the
/// tensors it is defined by, or moved in tiles of few regions each.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The number of moved elements that cost as much as setting up one region. With fewer elements per
    /// region, a second pass is faster.
    pub elements: usize,
    /// The number of regions that is always allowed, however few elements they have: a plan is made only
    /// once, and small tensors move quickly either way.
    pub few: usize,
    /// The maximum number of regions of a tensor, not counting regions from joins.
    pub most: usize,
    /// The maximum number of regions of a tensor that is moved directly from one other tensor.
    pub directly: usize,
    /// The maximum number of boxes of a composed map. Longer chains are pulled back in several steps, which
    /// gives the same boxes.
    pub composed: usize,
    /// The maximum number of layers of a composed map during the search for a shorter one.
    pub layers: usize,
    /// The maximum excess of pieces over parts in the map of joined parts. Rolls have two pieces.
    pub pieces: usize,
    /// The remaining steps for making regions. Each coordinate evaluation over a region is one step.
    pub steps: usize,
    /// The minimum number of steps for each tensor that is pulled back.
    pub steps_each: usize,
    /// The remaining cost of kept regions. A region costs the rank of its tensor plus one.
    pub kept: usize,
    /// The minimum number of regions that may be kept for a tensor.
    pub kept_each: usize,
}

impl Default for Budget {
    /// The budget of a CPU: planning takes at most a few seconds and a few hundred megabytes.
    fn default() -> Budget {
        Budget {
            elements: 1024,
            few: 1024,
            most: 1 << 16,
            directly: 1 << 16,
            composed: 1024,
            layers: 16,
            pieces: 64,
            steps: 1 << 22,
            steps_each: 1024,
            kept: 1 << 20,
            kept_each: 16,
        }
    }
}

impl Budget {
    /// Maximum number of regions of a tensor of this shape, or of boxes of a map to it.
    pub fn most(&self, shape: &Shape) -> usize {
        let worthwhile = shape.elements() / self.elements.max(1);
        worthwhile.max(self.few).min(self.most).min(self.left(shape))
    }

    /// The maximum for regions that come through a join, which has at least as many regions as parts.
    pub(super) fn raised(&self, shape: &Shape, most: usize, parts: &[TensorId]) -> usize {
        most.saturating_add(parts.len()).min(self.left(shape)).max(most)
    }

    /// Maximum number of regions of a tensor of this shape that is moved directly from one other tensor.
    pub(super) fn most_directly(&self, shape: &Shape) -> usize {
        let steps = (self.steps / (shape.rank() + 1)).max(self.kept_each);
        self.directly.min(self.left(shape)).min(steps)
    }

    fn left(&self, shape: &Shape) -> usize {
        (self.kept / (shape.rank() + 1)).max(self.kept_each)
    }

    /// Spends `cost` steps, first from the tensor's `own` steps. Returns whether enough were left.
    pub(super) fn spend(&mut self, own: &mut usize, cost: usize) -> bool {
        let of_own = cost.min(*own);
        *own -= of_own;
        let enough = self.steps >= cost - of_own;
        self.steps = self.steps.saturating_sub(cost - of_own);
        enough
    }

    /// Subtracts the cost of kept regions.
    pub(super) fn keep(&mut self, shape: &Shape, regions: usize) {
        let cost = (shape.rank() + 1).saturating_mul(regions);
        self.kept = self.kept.saturating_sub(cost);
    }
}
