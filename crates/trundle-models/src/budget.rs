//! How much a program may cost to plan, in time and in memory, whatever its model asks for.

use trundle_core::Shape;

use crate::TensorId;

/// What all drawings of a program together may take. A drawing that finds too little left is not
/// refused: its tensor is read from what it is made of directly, which takes what the file takes.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Up to here a region is never too small to be worth a move of its own: a plan has to be made
    /// only once, and tensors of few elements are quickly moved either way.
    pub(crate) few: usize,
    /// The most regions of a tensor that is moved from one other directly.
    pub(crate) directly: usize,
    /// What regions may still cost to make, each as much as its tensor has axes, and one.
    pub(crate) steps: usize,
    /// The same for those that are kept, as moves.
    pub(crate) kept: usize,
    /// What each drawing may cost at least.
    pub(crate) steps_each: usize,
    /// What is left of that for the drawing that was begun last.
    pub(crate) own: usize,
}

/// A region costs about as much to set out as some hundred elements to move: with fewer elements
/// for each, a second pass is quicker.
const ELEMENTS: usize = 1024;

/// The most regions of a tensor, however large; but for those that come through joins.
const MOST: usize = 1 << 16;

/// How many regions a drawing may have at least.
const KEPT_EACH: usize = 16;

impl Default for Budget {
    /// Some seconds, and some hundred megabytes.
    fn default() -> Budget {
        Budget {
            few: 1024,
            directly: MOST,
            steps: 1 << 22,
            kept: 1 << 20,
            steps_each: 1024,
            own: 0,
        }
    }
}

impl Budget {
    /// Begins a drawing. How many regions of a tensor of this shape there may be.
    pub(crate) fn begin(&mut self, shape: &Shape) -> usize {
        self.own = self.steps_each;
        (shape.elements() / ELEMENTS).max(self.few).min(MOST).min(self.left(shape))
    }

    /// That number where regions come through a join: there are as many as it has parts, at least.
    pub(crate) fn raised(&self, shape: &Shape, most: usize, parts: &[TensorId]) -> usize {
        (most + parts.len()).min(self.left(shape)).max(most)
    }

    /// How many regions a tensor of this shape may have that is moved from one other directly.
    pub(crate) fn most_directly(&self, shape: &Shape) -> usize {
        let steps = (self.steps / (shape.rank() + 1)).max(KEPT_EACH);
        self.directly.min(self.left(shape)).min(steps)
    }

    fn left(&self, shape: &Shape) -> usize {
        (self.kept / (shape.rank() + 1)).max(KEPT_EACH)
    }

    /// Takes what it costs to make so many regions; whether that was left.
    pub(crate) fn spend(&mut self, shape: &Shape, regions: usize) -> bool {
        let cost = (shape.rank() + 1).saturating_mul(regions + 1);
        let own = cost.min(self.own);
        self.own -= own;
        let enough = self.steps >= cost - own;
        self.steps = self.steps.saturating_sub(cost - own);
        enough
    }

    /// Takes what so many regions are as moves.
    pub(crate) fn keep(&mut self, shape: &Shape, regions: usize) {
        let cost = (shape.rank() + 1).saturating_mul(regions);
        self.kept = self.kept.saturating_sub(cost);
    }
}
