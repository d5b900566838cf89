use super::TensorId;
use crate::Shape;

/// Limits on the time and memory of planning the passes of a program.
///
/// The caller provides it, because the cost of a region relative to moving an element depends on the backend.
///
/// Exceeding a limit is never an error. A tensor with too many regions is read directly from its source tensors, or
/// moved in tiles.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The number of elements that can be moved in the time to set up one region. With fewer elements per region, a
    /// second pass is faster.
    pub elements: usize,
    /// The number of regions that is always allowed, however few elements they have, because a small tensor moves
    /// quickly in any case.
    pub few: usize,
    /// The maximum number of regions of a tensor, not counting regions from joins.
    pub most: usize,
    /// The maximum number of regions of a tensor that is moved directly from one other tensor.
    pub directly: usize,
    /// The maximum number of boxes of a composed map. Other maps are pulled back one after another, which gives the
    /// same boxes.
    pub composed: usize,
    /// The maximum number of layers of a composed map, in the search for a map with fewer layers.
    pub layers: usize,
    /// The maximum excess of pieces over parts for a join of parts of a tensor to become one map. A roll has two
    /// pieces.
    pub pieces: usize,
    /// The remaining steps for making regions: evaluations of one coordinate over one region.
    pub steps: usize,
    /// The steps that each pulled-back tensor may take even if none remain.
    pub steps_each: usize,
    /// The remaining memory for the regions of passes. A region costs the rank of its tensor plus one.
    pub kept: usize,
    /// The regions that each tensor may have even if no memory remains.
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

    /// A join has at least as many regions as parts.
    pub(super) fn raised(&self, shape: &Shape, most: usize, parts: &[TensorId]) -> usize {
        most.saturating_add(parts.len()).min(self.left(shape)).max(most)
    }

    pub(super) fn most_directly(&self, shape: &Shape) -> usize {
        let steps = (self.steps / (shape.rank() + 1)).max(self.kept_each);
        self.directly.min(self.left(shape)).min(steps)
    }

    fn left(&self, shape: &Shape) -> usize {
        (self.kept / (shape.rank() + 1)).max(self.kept_each)
    }

    /// Spends `cost` steps, first from the tensor's `own` steps. Returns whether enough remained.
    pub(super) fn spend(&mut self, own: &mut usize, cost: usize) -> bool {
        let of_own = cost.min(*own);
        *own -= of_own;
        let enough = self.steps >= cost - of_own;
        self.steps = self.steps.saturating_sub(cost - of_own);
        enough
    }

    pub(super) fn keep(&mut self, shape: &Shape, regions: usize) {
        let cost = (shape.rank() + 1).saturating_mul(regions);
        self.kept = self.kept.saturating_sub(cost);
    }
}
