//! How much passes may cost to find, in time and in memory, whatever a program asks for.

use super::TensorId;
use crate::Shape;

/// What it may cost to write tensors in as few passes as can be. It is given by whoever runs the
/// program: only they know what a region costs beside an element that is moved.
///
/// Nothing is refused for it. A tensor that would be too many regions is read from what it is made
/// of directly, or moved in tiles of few regions each.
#[derive(Clone, Debug)]
pub struct Budget {
    /// A region costs about as much to set out as so many elements to move: with fewer elements
    /// for each, a second pass is quicker.
    pub elements: usize,
    /// Up to so many regions of a tensor are never too small: a plan has to be made only once, and
    /// tensors of few elements are quickly moved either way.
    pub few: usize,
    /// The most regions of a tensor, however large; but for those that come through joins.
    pub most: usize,
    /// The most regions of a tensor that is moved from one other directly.
    pub directly: usize,
    /// The most boxes of a map that is composed of others. Longer chains are pulled back in several
    /// steps, which comes to the same boxes.
    pub composed: usize,
    /// The most layers of such a map, while it is looked for one of fewer.
    pub layers: usize,
    /// How many more pieces than parts the map of joined parts may be made of. Rolls have two.
    pub pieces: usize,
    /// What regions may still cost to make: a step each time that one is asked for a coordinate.
    pub steps: usize,
    /// What each tensor that is pulled back may cost at least.
    pub steps_each: usize,
    /// What regions that are kept may still cost, each as much as its tensor has axes, and one.
    pub kept: usize,
    /// How many regions may be kept of a tensor at least.
    pub kept_each: usize,
}

impl Default for Budget {
    /// The budget of a CPU: planning takes at most some seconds and some hundred megabytes.
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
    /// How many regions of a tensor of this shape there may be, or boxes of a map to one.
    pub fn most(&self, shape: &Shape) -> usize {
        let worthwhile = shape.elements() / self.elements.max(1);
        worthwhile.max(self.few).min(self.most).min(self.left(shape))
    }

    /// That number where regions come through a join: there are as many as it has parts, at least.
    pub(super) fn raised(&self, shape: &Shape, most: usize, parts: &[TensorId]) -> usize {
        most.saturating_add(parts.len()).min(self.left(shape)).max(most)
    }

    /// How many regions a tensor of this shape may have that is moved from one other directly.
    pub(super) fn most_directly(&self, shape: &Shape) -> usize {
        let steps = (self.steps / (shape.rank() + 1)).max(self.kept_each);
        self.directly.min(self.left(shape)).min(steps)
    }

    fn left(&self, shape: &Shape) -> usize {
        (self.kept / (shape.rank() + 1)).max(self.kept_each)
    }

    /// Takes so many steps, first from what the tensor has of its `own`; whether they were left.
    pub(super) fn spend(&mut self, own: &mut usize, cost: usize) -> bool {
        let of_own = cost.min(*own);
        *own -= of_own;
        let enough = self.steps >= cost - of_own;
        self.steps = self.steps.saturating_sub(cost - of_own);
        enough
    }

    /// Takes what so many regions are that are kept.
    pub(super) fn keep(&mut self, shape: &Shape, regions: usize) {
        let cost = (shape.rank() + 1).saturating_mul(regions);
        self.kept = self.kept.saturating_sub(cost);
    }
}
