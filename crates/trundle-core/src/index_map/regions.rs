use alloc::sync::Arc;
use alloc::vec::Vec;

use super::preimage::{Room, visit_preimage};
use super::{IndexMap, Region};
use crate::{Layout, Shape};

/// Disjoint boxes of one output that have been pulled back to one tensor.
///
/// A set begins as a whole layout, is pulled back [through](Regions::through) maps and [cut](Regions::cut). It cannot
/// be cloned, and can be united only with other parts of the same layout. So the boxes stay disjoint, and a
/// [`Move`](crate::Move) made from them writes no position twice.
///
/// ```compile_fail
/// use trundle_core::{Layout, Regions, Shape};
///
/// let layout = Layout::row_major(&Shape::new([4])?, 1)?;
/// let regions = Regions::of(&layout);
/// let twice = regions.clone(); // There is no such method.
/// # Ok::<(), trundle_core::Error>(())
/// ```
///
/// ```compile_fail
/// use trundle_core::{Layout, Regions, Shape};
///
/// let layout = Layout::row_major(&Shape::new([4])?, 1)?;
/// let regions = Regions { shape: Shape::new([9])?, ..Regions::of(&layout) }; // The fields are private.
/// # Ok::<(), trundle_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Regions {
    /// Parts of the same set share this pointer.
    target: Arc<Layout>,
    /// All coordinates of the boxes lie within it.
    shape: Shape,
    boxes: Vec<Region>,
}

impl Regions {
    /// Creates the set of all elements of a layout.
    pub fn of(layout: &Layout) -> Regions {
        let boxes =
            if layout.shape().elements() == 0 { Vec::new() } else { vec![Region::of(layout)] };
        Regions { target: Arc::new(layout.clone()), shape: layout.shape().clone(), boxes }
    }

    /// The layout of the output.
    pub fn target(&self) -> &Layout {
        &self.target
    }

    /// The shape of the tensor that the boxes have been pulled back to.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of boxes. A box with the jump of a roll counts as two.
    pub fn len(&self) -> usize {
        self.boxes.iter().map(Region::boxes).sum()
    }

    /// Whether the set has no boxes.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// The number of elements in all boxes.
    pub fn elements(&self) -> usize {
        self.boxes.iter().map(Region::elements).sum()
    }

    pub(crate) fn boxes(&self) -> &[Region] {
        &self.boxes
    }

    /// Pulls the boxes back to the source of `map`.
    ///
    /// Law: each output index of the regions is in exactly one box of the result, at the same position. Its coordinates
    /// are the image of its old coordinates under `map`.
    ///
    /// # Errors
    /// Returns the unchanged regions if the result would have more than `most` boxes, or if a coordinate is not a
    /// linear form over boxes.
    ///
    /// # Panics
    /// If the output shape of `map` is not the shape of the tensor that the regions have been pulled back to.
    pub fn through(self, map: &IndexMap, most: usize) -> Result<Regions, Regions> {
        self.through_within(map, &mut Room::of_boxes(most))
    }

    pub(crate) fn through_within(
        self,
        map: &IndexMap,
        room: &mut Room,
    ) -> Result<Regions, Regions> {
        assert_eq!(&self.shape, map.out_shape(), "regions at the output of the map");
        let mut boxes = Vec::with_capacity(self.boxes.len());
        let mut keep = |region| {
            boxes.push(region);
            Some(())
        };
        for region in &self.boxes {
            if visit_preimage(map.layers(), region.clone(), room, &mut keep).is_none() {
                return Err(self);
            }
        }
        Ok(Regions { shape: map.in_shape().clone(), boxes, ..self })
    }

    /// Splits the regions into those whose coordinate on `axis` is below `at`, and the others, whose coordinate is
    /// reduced by `at`.
    ///
    /// These are the parts that come from the first and the second of two tensors concatenated along the axis.
    ///
    /// # Errors
    /// Returns the unchanged regions if there would be more than `most` boxes, or if the coordinate is along a partly
    /// reversed row.
    ///
    /// # Panics
    /// If there is no such axis, or if `at` is greater than its size.
    pub fn cut(self, axis: usize, at: usize, most: usize) -> Result<(Regions, Regions), Regions> {
        let size = self.shape[axis];
        assert!(at <= size, "an axis of {size} cut at {at}");
        let (mut below, mut beyond, mut room) = (Vec::new(), Vec::new(), Room::of_boxes(most));
        for region in &self.boxes {
            let Some((first, second)) = region.clone().cut(axis, at, &mut room) else {
                return Err(self);
            };
            below.extend(first);
            beyond.extend(second);
        }
        let part = |size: usize, boxes: Vec<Region>| {
            let mut sizes = self.shape.sizes().to_vec();
            sizes[axis] = size;
            let shape = Shape::new(sizes)
                .unwrap_or_else(|error| unreachable!("a part is at most as large: {error}"));
            Regions { target: self.target.clone(), shape, boxes }
        };
        Ok((part(at, below), part(size - at, beyond)))
    }

    /// Unites these regions with `other` parts of the same layout, pulled back to the same tensor.
    ///
    /// # Panics
    /// If the layouts or the shapes of the tensors differ.
    #[must_use]
    pub fn and(mut self, other: Regions) -> Regions {
        assert!(Arc::ptr_eq(&self.target, &other.target), "parts of one whole");
        assert_eq!(self.shape, other.shape, "parts that are pulled back to one tensor");
        self.boxes.extend(other.boxes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(sizes: &[usize]) -> Regions {
        Regions::of(&Layout::row_major(&Shape::new(sizes).unwrap(), 1).unwrap())
    }

    #[test]
    fn parts_of_the_same_regions_are_joined_again() {
        let (below, beyond) = whole(&[3, 6]).cut(1, 2, 9).unwrap();
        assert_eq!((below.shape().sizes(), beyond.shape().sizes()), (&[3, 2][..], &[3, 4][..]));
        assert_eq!((below.elements(), beyond.elements()), (6, 12));
        let (first, second) = beyond.cut(1, 2, 9).unwrap();
        assert_eq!(below.and(first).elements(), 12);
        assert_eq!(second.elements(), 6);
        assert!(whole(&[3, 0]).is_empty());
    }

    #[test]
    #[should_panic(expected = "parts of one whole")]
    fn joining_parts_of_different_regions_panics() {
        let _ = whole(&[3]).and(whole(&[3]));
    }

    #[test]
    fn regions_that_cannot_be_pulled_back_stay_unchanged() {
        let shape = Shape::new([2, 3]).unwrap();
        let rolled = crate::ops::Roll::new(&[1, 1], &[0, 1]).index_map(&shape).unwrap();
        // Rolling an axis of size two by one reverses it: two boxes.
        let regions = whole(&[2, 3]).through(&rolled, 1).unwrap_err();
        assert_eq!((regions.len(), regions.shape()), (1, &shape));
        assert_eq!(regions.through(&rolled, 2).unwrap().elements(), 6);
    }
}
