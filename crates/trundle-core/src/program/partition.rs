//! Splits the regions of a joined tensor among its parts.

use alloc::vec::Vec;
use core::ops::Range;

use crate::Regions;

/// Splits regions of a joined tensor among its parts, whose ends along the axis are `ends`.
///
/// Returns regions with the index of their part, or `None` if there would be more than `room` regions, or if a region
/// cannot be cut.
///
/// Law: each index of the given regions is in exactly one region of the result, of the part that contains it, with its
/// coordinate relative to the start of that part.
pub(super) fn partition(
    regions: Regions,
    axis: usize,
    ends: &[usize],
    room: usize,
) -> Option<Vec<(usize, Regions)>> {
    let mut of_parts = Vec::new();
    let mut count = regions.len();
    // Bisection: regions in a range of several parts are cut at its middle, so each is compared with few parts. The
    // coordinates are relative to the first part of the range.
    let mut left = vec![(regions, 0..ends.len())];
    while let Some((regions, Range { start, end })) = left.pop() {
        if regions.is_empty() {
            continue;
        }
        if end - start == 1 {
            of_parts.push((start, regions));
            continue;
        }
        let middle = usize::midpoint(start, end);
        let begin = start.checked_sub(1).map_or(0, |before| ends[before]);
        count -= regions.len();
        let cut = regions.cut(axis, ends[middle - 1] - begin, room.checked_sub(count)?);
        let (below, beyond) = cut.ok()?;
        count += below.len() + beyond.len();
        left.extend([(beyond, middle..end), (below, start..middle)]);
    }
    (count <= room).then_some(of_parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Roll;
    use crate::{Layout, Shape};

    /// The regions of a tensor rolled along both axes. A region begins at column 7, in the middle of a part.
    fn regions() -> Regions {
        let shape = Shape::new([4, 9]).unwrap();
        let map = Roll::new(&[1, 2], &[0, 1]).index_map(&shape).unwrap();
        Regions::of(&Layout::row_major(&shape, 1).unwrap()).through(&map, 9).unwrap()
    }

    #[test]
    fn a_partition_has_at_most_the_given_number_of_regions() {
        let ends = [2, 2, 5, 9];
        let all = partition(regions(), 1, &ends, usize::MAX).unwrap();
        let of_parts = |(part, regions): &(usize, Regions)| (*part, regions.elements());
        assert_eq!(all.iter().map(of_parts).collect::<Vec<_>>(), [(0, 8), (2, 12), (3, 16)]);
        let count = all.iter().map(|(_, regions)| regions.len()).sum::<usize>();
        assert!(count > regions().len());
        for room in 0..2 * count {
            let bounded = partition(regions(), 1, &ends, room);
            assert_eq!(bounded.is_some(), room >= count, "{room}");
        }
    }
}
