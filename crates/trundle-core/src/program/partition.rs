//! The regions of a joined tensor, put to its parts.

use std::ops::Range;

use super::TensorId;
use crate::Regions;

/// Regions on their way from a joined tensor to its parts.
pub(super) struct Partition<'a> {
    axis: usize,
    parts: &'a [TensorId],
    /// Where along the axis each part ends.
    ends: &'a [usize],
    /// How many regions there may be.
    room: usize,
    /// How many have come to parts.
    pub(super) count: usize,
    pub(super) of_parts: Vec<(TensorId, Regions)>,
}

impl<'a> Partition<'a> {
    pub(super) fn new(
        axis: usize,
        parts: &'a [TensorId],
        ends: &'a [usize],
        room: usize,
    ) -> Partition<'a> {
        Partition { axis, parts, ends, room, count: 0, of_parts: Vec::new() }
    }

    /// Puts regions of the whole tensor to its parts. `None` if there are too many, or if one
    /// cannot be cut.
    ///
    /// Law: each index that was in one of the regions is in one of the result, at the part that holds
    /// it, with its coordinate counted from where that part begins.
    pub(super) fn put(&mut self, regions: Regions) -> Option<()> {
        self.put_to(regions, 0..self.parts.len(), 0)
    }

    /// Cuts regions that lie in these parts, counted from where the first of them begins, in the
    /// middle, and so on: a region is held against few parts, however many there are. `waiting` is
    /// how many wait for later parts.
    fn put_to(&mut self, regions: Regions, parts: Range<usize>, waiting: usize) -> Option<()> {
        if regions.is_empty() {
            return Some(());
        }
        if parts.len() == 1 {
            self.count += regions.len();
            self.of_parts.push((self.parts[parts.start], regions));
            return Some(());
        }
        let middle = usize::midpoint(parts.start, parts.end);
        let at = self.ends[middle - 1] - self.begin(parts.start);
        let most = self.room.saturating_sub(self.count + waiting);
        let (below, beyond) = regions.cut(self.axis, at, most).ok()?;
        self.put_to(below, parts.start..middle, waiting + beyond.len())?;
        self.put_to(beyond, middle..parts.end, waiting)
    }

    fn begin(&self, part: usize) -> usize {
        if part == 0 { 0 } else { self.ends[part - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Roll;
    use crate::{Layout, Shape};

    /// A tensor of three columns of two regions each, beginning within a part.
    fn regions() -> Regions {
        let shape = Shape::new([4, 9]).unwrap();
        let map = Roll::new(&[1, 2], &[0, 1]).index_map(&shape).unwrap();
        Regions::of(&Layout::row_major(&shape, 1).unwrap()).through(&map, 9).unwrap()
    }

    #[test]
    fn no_more_regions_come_to_parts_than_there_is_room_for() {
        let (parts, ends) = ([5, 3, 4, 3].map(TensorId), [2, 2, 5, 9]);
        let mut all = Partition::new(1, &parts, &ends, usize::MAX);
        all.put(regions()).unwrap();
        let of_parts: Vec<(usize, usize)> =
            all.of_parts.iter().map(|(part, regions)| (part.0, regions.elements())).collect();
        assert_eq!(of_parts, [(5, 8), (4, 12), (3, 16)]);
        assert!(all.count > regions().len());
        for room in 0..2 * all.count {
            let mut bounded = Partition::new(1, &parts, &ends, room);
            assert_eq!(bounded.put(regions()).is_some(), room >= all.count, "{room}");
        }
    }
}
