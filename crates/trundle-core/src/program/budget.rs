//! Limits on the time and memory of planning.

use super::TensorId;
use crate::Shape;

/// Limits on the time and memory of planning the passes of a program.
///
/// The caller provides the budget, because the cost of a region, compared to the cost of moving an element,
/// depends on the backend.
///
/// Exceeding a limit is never an error. A tensor that would have too many regions is read directly from its source
/// tensors, or is moved in tiles with few regions each.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The number of elements that can be moved in the time that is needed to set up one region. If regions have
    /// fewer elements, a second pass is faster.
    pub elements: usize,
    /// The number of regions that is always allowed, however few elements they have. A plan is made only once, and
    /// a small tensor moves quickly in any case.
    pub few: usize,
    /// The maximum number of regions of a tensor, not counting regions from joins.
    pub most: usize,
    /// The maximum number of regions of a tensor that is moved directly from one other tensor.
    pub directly: usize,
    /// The maximum number of boxes of a composed map. Maps that would have more boxes are not composed, but pulled
    /// back one after another, which gives the same boxes.
    pub composed: usize,
    /// The maximum number of layers of a composed map. The planner composes maps to find a map with fewer layers.
    pub layers: usize,
    /// A join of several parts of a tensor becomes one map only if the map has at most this many pieces more than
    /// the join has parts. A roll has two pieces.
    pub pieces: usize,
    /// The remaining steps for making regions. Evaluating one coordinate over one region is one step.
    pub steps: usize,
    /// The number of steps that each pulled-back tensor may take even if no other steps remain.
    pub steps_each: usize,
    /// The remaining memory for the regions of passes. A region costs the rank of its tensor plus one.
    pub kept: usize,
    /// The number of regions that each tensor may have even if no memory remains.
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
    /// The maximum number of regions of a tensor of this shape, or of boxes of a map whose output has this shape.
    pub fn most(&self, shape: &Shape) -> usize {
        let worthwhile = shape.elements() / self.elements.max(1);
        worthwhile.max(self.few).min(self.most).min(self.left(shape))
    }

    /// The maximum number of regions after a join, which has at least as many regions as parts.
    pub(super) fn raised(&self, shape: &Shape, most: usize, parts: &[TensorId]) -> usize {
        most.saturating_add(parts.len()).min(self.left(shape)).max(most)
    }

    /// The maximum number of regions of a tensor of this shape that is moved directly from one other tensor.
    pub(super) fn most_directly(&self, shape: &Shape) -> usize {
        let steps = (self.steps / (shape.rank() + 1)).max(self.kept_each);
        self.directly.min(self.left(shape)).min(steps)
    }

    fn left(&self, shape: &Shape) -> usize {
        (self.kept / (shape.rank() + 1)).max(self.kept_each)
    }

    /// Spends `cost` steps, first from the tensor's `own` steps. Returns whether enough steps remained.
    pub(super) fn spend(&mut self, own: &mut usize, cost: usize) -> bool {
        let of_own = cost.min(*own);
        *own -= of_own;
        let enough = self.steps >= cost - of_own;
        self.steps = self.steps.saturating_sub(cost - of_own);
        enough
    }

    /// Subtracts the memory for the regions of one tensor.
    pub(super) fn keep(&mut self, shape: &Shape, regions: usize) {
        let cost = (shape.rank() + 1).saturating_mul(regions);
        self.kept = self.kept.saturating_sub(cost);
    }
}
