//! Boxes of one tensor, drawn back to another.

use trundle_core::{IndexMap, Layout, Region, Shape};

/// Boxes of one output that are apart, at the tensor that they have been drawn back to. They begin
/// as the whole of a layout, and are drawn through maps and cut.
#[derive(Debug)]
pub(crate) struct Regions {
    shape: Shape,
    boxes: Vec<Region>,
}

impl Regions {
    /// Every element of a layout.
    pub(crate) fn of(layout: &Layout) -> Regions {
        Regions { shape: layout.shape().clone(), boxes: vec![Region::of(layout)] }
    }

    /// The shape of the tensor that they have been drawn back to.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// Each of them.
    pub(crate) fn boxes(&self) -> &[Region] {
        &self.boxes
    }

    /// The regions in the source of `map` that these are drawn back to.
    ///
    /// # Errors
    /// These regions, as they were, if they would become more than `most`, or if a coordinate is no
    /// linear form over few boxes.
    pub(crate) fn through(self, map: &IndexMap, most: usize) -> Result<Regions, Regions> {
        let mut boxes = Vec::new();
        for region in &self.boxes {
            let left = most.saturating_sub(boxes.len());
            match region.clone().through(map, left) {
                Some(drawn) => boxes.extend(drawn),
                None => return Err(self),
            }
        }
        Ok(Regions { shape: map.in_shape().clone(), boxes })
    }

    /// The parts whose coordinate on `axis` is below `at`, and the others, whose coordinate is then
    /// counted from `at`.
    ///
    /// # Errors
    /// These regions, as they were, if they would become more than `most`, or on a row that is
    /// reversed.
    pub(crate) fn cut(
        self,
        axis: usize,
        at: usize,
        most: usize,
    ) -> Result<(Regions, Regions), Regions> {
        let (mut below, mut beyond) = (Vec::new(), Vec::new());
        for region in &self.boxes {
            let left = most.saturating_sub(below.len() + beyond.len());
            let Some((first, second)) = region.clone().cut(axis, at, left) else {
                return Err(self);
            };
            below.extend(first);
            beyond.extend(second);
        }
        let part = |size: usize, boxes: Vec<Region>| {
            let mut sizes = self.shape.sizes().to_vec();
            sizes[axis] = size;
            // A part is no larger than the whole.
            let shape = Shape::new(sizes).unwrap_or_default();
            Regions { shape, boxes }
        };
        Ok((part(at, below), part(self.shape[axis] - at, beyond)))
    }

    /// These and `other`, which are other parts of the same whole, drawn back to the same tensor.
    #[must_use]
    pub(crate) fn and(mut self, other: Regions) -> Regions {
        self.boxes.extend(other.boxes);
        self
    }
}
